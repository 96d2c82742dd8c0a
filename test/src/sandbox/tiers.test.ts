// Organizations with Public API access only: the rules of API.md, "Access tiers".
import { expect, test } from "vitest";
import { first, get, sharedSandbox, walk } from "./sandbox-client.ts";

const sandbox = sharedSandbox({ accounts: 5 });

test("without Full Access the workspace is empty, the companies stay, and the tier can change at any time", async () => {
  const account = first((await walk(sandbox(), "/v1/accounts")).filter(({ companyId }) => companyId !== undefined));
  const contact = first(await walk(sandbox(), "/v1/contacts"));
  const signal = first(await walk(sandbox(), "/v1/signals"));
  sandbox().setTier("public");
  expect((await get(sandbox(), `/v1/account-insights?accountId=${account.id}`)).status).toBe("not_found");
  await get(sandbox(), `/v1/accounts/${account.id}`, 404);
  await get(sandbox(), `/v1/contacts/${contact.id}`, 404);
  await get(sandbox(), `/v1/signals/${signal.id}`, 404);
  for (const path of ["/v1/accounts", "/v1/contacts", "/v1/signals"]) {
    const { data, meta } = await get(sandbox(), `${path}?perPage=50`);
    expect([data, meta?.totalCount, meta?.perPage]).toEqual([[], 0, 50]);
    await get(sandbox(), `${path}?perPage=101`, 400);
  }
  expect((await get(sandbox(), "/v1/signals/counts")).data).toEqual({});
  expect((await get(sandbox(), `/v1/companies/${account.companyId}`)).data).toMatchObject({ id: account.companyId });
  expect((await get(sandbox(), `/v1/companies/${account.companyId}/job-openings`)).meta?.totalCount).toBeGreaterThan(0);
  sandbox().setTier("full");
  expect((await get(sandbox(), "/v1/accounts")).meta?.totalCount).toBe(5);
});
