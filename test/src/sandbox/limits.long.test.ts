// Plans, rate limits and credits, with a clock that the test moves.
import { describe, expect, test } from "vitest";
import { PLANS } from "../../../src/sandbox/limits/credits.ts";
import { RATE_DIALECTS, RESET_FORMS } from "../../../src/sandbox/limits/rate-window.ts";
import { fakeClock, get, NOW, send, withSandbox } from "./sandbox-client.ts";

const MINUTE = 60_000;

describe("rate limit", () => {
  test.each([
    ["free", 10],
    ["build", 60],
    ["scale", 120],
    ["pro", 300],
  ] as const)("plan %s allows %i requests in any minute, then says when to come back", async (plan, limit) => {
    const clock = fakeClock();
    await withSandbox({ plan, clock, credits: 10_000 }, async (sandbox) => {
      expect(PLANS[plan].requestsPerMinute).toBe(limit);
      const first = await send(sandbox, "/v1/usage/limits");
      expect(first.headers.get("ratelimit-limit")).toBe(String(limit));
      expect(first.headers.get("ratelimit-remaining")).toBe(String(limit - 1));
      clock.advance(20_000);
      for (let sent = 1; sent < limit; sent++) expect((await send(sandbox, "/v1/accounts/1")).status).toBe(404);
      const refused = await send(sandbox, "/v1/accounts");
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "40"]);
      expect(refused.headers.get("ratelimit-remaining")).toBe("0");
      clock.advance(39_999);
      expect((await send(sandbox, "/v1/accounts")).status).toBe(429);
      clock.advance(1);
      // One request has left the sliding window, so one may enter.
      expect((await send(sandbox, "/v1/accounts")).status).toBe(200);
      expect((await send(sandbox, "/v1/accounts")).status).toBe(429);
      expect(sandbox.stats().byStatus).toEqual({ 200: 2, 404: limit - 1, 429: 3 });
      expect(sandbox.stats().credits.used).toBe(2);
    });
  });

  test("every token has a window of its own", async () => {
    await withSandbox({ requestsPerMinute: 1, clock: fakeClock(), moreTokens: ["second"] }, async (sandbox) => {
      await get(sandbox, "/v1/accounts");
      await get(sandbox, "/v1/accounts", 429);
      const other = await send(sandbox, "/v1/accounts", { headers: { authorization: "Bearer second" } });
      expect(other.status).toBe(200);
      const { data } = await get(sandbox, "/v1/usage?groupBy=apiKey", 429);
      expect(data).toBeUndefined();
    });
  });

  test.each(RATE_DIALECTS)("headers in dialect %s", async (dialect) => {
    await withSandbox({ clock: fakeClock(), requestsPerMinute: 5, rateHeaders: { dialect } }, async (sandbox) => {
      const { headers } = await send(sandbox, "/v1/accounts");
      const names = [...headers.keys()].filter((name) => name.includes("ratelimit"));
      const expected = {
        ratelimit: ["ratelimit", "ratelimit-policy"],
        "ratelimit-legacy": ["ratelimit-limit", "ratelimit-policy", "ratelimit-remaining", "ratelimit-reset"],
        "x-ratelimit": ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
        none: [],
      }[dialect];
      expect(names.sort()).toEqual(expected);
      if (dialect === "ratelimit") expect(headers.get("ratelimit")).toBe('"default";r=4;t=60');
    });
  });

  test.each(RESET_FORMS)("reset as %s", async (reset) => {
    const rateHeaders = { dialect: "x-ratelimit", reset, retryAfter: "date" } as const;
    await withSandbox({ clock: fakeClock(), requestsPerMinute: 1, rateHeaders }, async (sandbox) => {
      const at = NOW + MINUTE;
      const expected = {
        delta: "60",
        epoch: String(at / 1000),
        "epoch-ms": String(at),
        date: new Date(at).toUTCString(),
      };
      expect((await send(sandbox, "/v1/accounts")).headers.get("x-ratelimit-reset")).toBe(expected[reset]);
      expect((await send(sandbox, "/v1/accounts")).headers.get("retry-after")).toBe(new Date(at).toUTCString());
    });
  });
});

describe("credits", () => {
  test("a 200 costs one, whatever its size; everything else is free", async () => {
    await withSandbox({ credits: 50 }, async (sandbox) => {
      const { usage } = await get(sandbox, "/v1/signals?perPage=100");
      expect(usage).toEqual({
        limit: 50,
        used: 1,
        remaining: 49,
        resetsAt: expect.stringMatching(/-01T00:00:00.000Z$/),
      });
      await get(sandbox, "/v1/accounts/1", 404);
      await get(sandbox, "/v1/accounts?perPage=x", 400);
      expect((await get(sandbox, "/v1/accounts?perPage=1")).usage?.used).toBe(2);
      expect((await get(sandbox, "/v1/account-insights?query=zzz")).usage?.used).toBe(3);
      await get(sandbox, "/v1/usage/limits");
      expect(sandbox.stats().credits.used).toBe(4);
    });
  });

  test.each([402, 429] as const)(
    "spent credits are refused with %i until the month ends, then roll over",
    async (status) => {
      const clock = fakeClock(Date.UTC(2026, 0, 30));
      await withSandbox({ credits: 3, exhaustedStatus: status, clock }, async (sandbox) => {
        for (let spent = 0; spent < 3; spent++) await get(sandbox, "/v1/accounts");
        await get(sandbox, "/v1/accounts", status);
        expect(sandbox.stats().credits).toEqual({ limit: 3, used: 3, remaining: 0, resetsAt: Date.UTC(2026, 1, 1) });
        clock.advance(Date.UTC(2026, 1, 1) - clock.now());
        expect((await get(sandbox, "/v1/accounts")).usage).toMatchObject({ limit: 3, used: 1, remaining: 2 });
        clock.advance(Date.UTC(2026, 2, 1) - clock.now());
        expect((await get(sandbox, "/v1/accounts")).usage).toMatchObject({ limit: 5, used: 1, remaining: 4 });
      });
    },
  );

  test("requests at the same time never spend more than there is", async () => {
    await withSandbox({ credits: 5, latencyMs: "1-20" }, async (sandbox) => {
      const replies = await Promise.all(Array.from({ length: 20 }, () => send(sandbox, "/v1/accounts")));
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(5);
      expect(sandbox.stats().credits).toMatchObject({ used: 5, remaining: 0 });
    });
  });
});

test("latency is waited on the clock, between its bounds", async () => {
  const clock = fakeClock();
  await withSandbox({ clock, latencyMs: "200-300" }, async (sandbox) => {
    await get(sandbox, "/v1/accounts");
    expect(clock.now() - NOW).toBeGreaterThanOrEqual(200);
    expect(clock.now() - NOW).toBeLessThanOrEqual(300);
  });
  await expect(withSandbox({ latencyMs: "300-200" }, async () => undefined)).rejects.toThrow("latency");
});
