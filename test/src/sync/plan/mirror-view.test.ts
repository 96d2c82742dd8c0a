// The planner's view: read again where a table changed, and only there.
import { expect, test } from "vitest";
import { COMPANY_LISTS, ORGANIZATION_LISTS } from "../../../../src/catalog/streams.ts";
import { mirrorViews, ROWS_BY_SCOPE } from "../../../../src/sync/plan/mirror-view.ts";
import type { TableLoad } from "../../../../src/warehouse/record/checkpoint.ts";
import { aWarehouse } from "../../warehouse/builders.ts";

// The query for the number of mirrored rows per list names every list of the catalog once.

test("rows of the organization's lists count inside the setting `scope` only, those of companies by company", () => {
  const parts = ROWS_BY_SCOPE.split(" UNION ALL ");
  const partsOf = (stream: string) => parts.filter((part) => part.startsWith(`SELECT '${stream}' `));
  for (const stream of ORGANIZATION_LISTS)
    expect(partsOf(stream)).toEqual([expect.stringMatching(/ WHERE _in_scope$/)]);
  for (const stream of COMPANY_LISTS)
    expect(partsOf(stream)).toEqual([expect.stringMatching(/ company_id AS scope, .* GROUP BY company_id$/)]);
  expect(parts).toHaveLength(ORGANIZATION_LISTS.length + COMPANY_LISTS.length + 1);
});

const aMirror = async () => {
  const warehouse = await aWarehouse();
  const queries: string[] = [];
  const { database } = warehouse;
  const counting = {
    ...warehouse,
    database: {
      ...database,
      query: (...args: Parameters<typeof database.query>) => {
        queries.push(/FROM (main\.\w+)/.exec(args[0])?.[1] ?? args[0]);
        return database.query(...args);
      },
    } as typeof database,
  };
  let request = 0;
  const load = (table: TableLoad["table"], record: TableLoad["records"][number]) => {
    request += 1;
    const one: TableLoad = {
      requestId: `q${request}`,
      stream: "accounts",
      table,
      records: [record],
      asked: new Set(),
      fromPath: {},
      receivedAt: 1_000,
      walkId: null,
    };
    return warehouse.commit({ runId: "r", loads: [one], requests: [], scopes: [], quota: null });
  };
  const viewAt = mirrorViews(counting, { content: false, rowScope: {} });
  const view = async () => {
    queries.length = 0;
    return { ...(await viewAt(5)), queries: [...queries].sort() };
  };
  return { warehouse, load, view };
};

const ACCOUNT = { id: 1, name: "Acme", companyId: "c1" };

test("nothing is read again while nothing changes, whatever is checked", async () => {
  const { load, view } = await aMirror();
  await load("accounts", ACCOUNT);
  expect(await view()).toMatchObject({
    accounts: [{ id: "1", companyId: "c1" }],
    queries: expect.arrayContaining(["main.accounts"]),
  });
  await load("accounts", ACCOUNT);
  expect((await view()).queries).toEqual([]);
});

test("rows that came, changed or went are seen", async () => {
  const { warehouse, load, view } = await aMirror();
  expect((await view()).accounts).toEqual([]);
  await load("accounts", ACCOUNT);
  expect((await view()).accounts).toHaveLength(1);
  await load("accounts", { ...ACCOUNT, companyId: "c2" });
  expect(await view()).toMatchObject({ accounts: [{ companyId: "c2" }], queries: ["main.accounts", "main.signals"] });
  await load("companies", { id: "c2", name: "Acme Inc" });
  expect(await view()).toMatchObject({ companies: new Set(["c2"]), queries: ["main.companies", "main.companies"] });
  await warehouse.deleteKeys({ table: "accounts", ids: ["1"], runId: "r", now: 2_000 });
  expect((await view()).accounts).toEqual([]);
});
