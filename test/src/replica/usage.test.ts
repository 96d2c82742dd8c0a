// The usage routes tell the truth about what was asked before.
import { expect, test } from "vitest";
import { fakeClock, get, many, NOW, one, send, walk, withSandbox } from "../sandbox/sandbox-client.ts";

const HOUR = 3_600_000;

test("totals, breakdowns and history agree with what was sent", async () => {
  const clock = fakeClock(NOW + 20 * HOUR);
  await withSandbox({ clock, credits: 1000, moreTokens: ["second"] }, async (sandbox) => {
    await get(sandbox, "/v1/accounts");
    await get(sandbox, "/v1/accounts?perPage=5");
    await get(sandbox, "/v1/accounts/1", 404);
    await send(sandbox, "/v1/signals", { headers: { authorization: "Bearer second" } });
    clock.advance(8 * HOUR);
    await get(sandbox, "/v1/contacts?perPage=0", 400);

    const month = one((await get(sandbox, "/v1/usage?groupBy=endpoint")).data);
    expect(month).toMatchObject({
      window: "monthly",
      from: "2026-05-01T00:00:00.000Z",
      to: "2026-06-01T00:00:00.000Z",
      totals: { requests: 6, successful: 4, failed: 2 },
      quota: { limit: 1000, used: 4, remaining: 996, resetsAt: "2026-06-01T00:00:00.000Z" },
    });
    expect(many(month.breakdown)).toContainEqual({ key: "GET /v1/accounts", requests: 2, successful: 2, failed: 0 });
    expect(many(month.breakdown)).toContainEqual({
      key: "GET /v1/accounts/{accountId}",
      requests: 1,
      successful: 0,
      failed: 1,
    });

    const days = many(one((await get(sandbox, "/v1/usage?groupBy=day")).data).breakdown);
    expect(days.map(({ key, requests }) => [key, requests])).toEqual([
      ["2026-05-20", 4],
      ["2026-05-21", 3],
    ]);
    const keys = many(one((await get(sandbox, "/v1/usage?groupBy=apiKey")).data).breakdown);
    expect(keys.map(({ requests }) => requests).sort()).toEqual([1, 7]);

    const today = one((await get(sandbox, "/v1/usage?window=daily")).data);
    expect(today).toMatchObject({ window: "daily", from: "2026-05-21T00:00:00.000Z", totals: { requests: 5 } });
    const custom = "window=custom&from=2026-05-20&to=2026-05-21";
    expect(one((await get(sandbox, `/v1/usage?${custom}`)).data).totals).toEqual({
      requests: 4,
      successful: 3,
      failed: 1,
    });
    await get(sandbox, "/v1/usage?window=custom&from=2026-05-20", 400);

    const history = await walk(sandbox, "/v1/usage/requests");
    expect(history).toHaveLength(12);
    const ids = history.map(({ id }) => Number(id));
    expect(ids).toEqual([...ids].sort((left, right) => right - left));
    expect(history.at(-3)).toMatchObject({
      endpoint: "GET /v1/accounts/{accountId}",
      successful: false,
      error: "HTTP 404",
      input: { accountId: "1" },
    });
    expect(history[0]).toMatchObject({ endpoint: "GET /v1/usage/requests", successful: true });
    const second = await get(sandbox, "/v1/usage/requests?perPage=5&page=3");
    expect(second.meta).toMatchObject({ page: 3, totalCount: 13, totalPages: 3 });
    expect(many((await get(sandbox, `/v1/usage/requests?${custom}`)).data)).toHaveLength(4);

    const { used } = sandbox.stats().credits;
    expect(one(one((await get(sandbox, "/v1/usage")).data).totals).successful).toBe(used + 1);
  });
});

test("a usage request that is refused counts as failed and is free", async () => {
  await withSandbox({ credits: 100 }, async (sandbox) => {
    await get(sandbox, "/v1/usage?window=custom", 400);
    await get(sandbox, "/v1/usage?organizationId=org_other", 404);
    await get(sandbox, `/v1/usage?organizationId=${sandbox.organizationId}`);
    const { totals, quota } = one((await get(sandbox, "/v1/usage")).data);
    expect(totals).toEqual({ requests: 4, successful: 2, failed: 2 });
    expect(one(quota).used).toBe(2);
  });
});

test("the contracted limits name the plan's credits", async () => {
  await withSandbox({ plan: "build" }, async (sandbox) => {
    expect((await get(sandbox, "/v1/usage/limits")).data).toMatchObject({ plan: "build", monthly: { credits: 5000 } });
  });
});
