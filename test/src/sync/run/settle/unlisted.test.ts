// Records that left their list and are still served by their id: the list decides once two walks lack them. A search window that
// cuts a list off decides nothing. Shows P3.
import { expect, test } from "vitest";
import { aContact, anAccount, aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeOptions } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";

const ROWS = 60;
const LEFT = 25;

/** A mirror of sixty signals; `unlist`: takes one out of its list, and what its own route answers then. */
const start = async (options: FakeOptions = {}) => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  for (let id = 1; id <= ROWS; id++) data.signals.push(aSignal(id, { accountId: 1 }));
  const service = createFakeService(data, options);
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,signals" });
  expect((await rig.sync()).error).toBeNull();
  const unlist = (status: number, body: unknown) => {
    data.signals = data.signals.filter(({ id }) => id !== LEFT);
    service.answerWhere(`/v1/signals/${LEFT}`, { status, body });
  };
  const walk = (more = {}) => rig.sync({ streams: ["signals"], full: true, ...more });
  return { ...rig, unlist, walk, held: () => rig.ids("signals").length };
};
const ARCHIVED = { data: { ...aSignal(LEFT, { accountId: 1 }), archived: true } };

test("an archived record moves to history when a second walk lacks it, and is not asked for again", async () => {
  const { unlist, walk, held, ids } = await start();
  unlist(200, ARCHIVED);
  // Allowing mass deletes proves nothing of one row.
  expect((await walk({ allowMassDelete: true })).code).toBe("STREAMS_FAILED");
  expect(held()).toBe(ROWS);
  for (const full of [false, true]) {
    const { error, sent } = await walk({ full });
    expect([error, sent.filter(({ path }) => path.startsWith("/v1/signals/"))]).toEqual([null, []]);
  }
  expect([held(), ids("signals").includes(String(LEFT))]).toEqual([ROWS - 1, false]);
});

test("nine contacts that are gone and one that is archived leave together: no row and no credit more after two syncs", async () => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  for (let id = 1; id <= ROWS; id++) data.contacts.push(aContact(`ct_${id}`, { accountId: 1 }));
  const service = createFakeService(data);
  const { sync, ids } = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts" });
  await sync();
  const [archived] = data.contacts.splice(0, 10);
  service.answerWhere(`/v1/contacts/${archived?.id}`, { status: 200, body: { data: archived } });
  await sync();
  expect((await sync()).error).toBeNull();
  for (const _ of [1, 2]) expect(await sync()).toMatchObject({ error: null, paid: 2 });
  expect(ids("contacts")).toHaveLength(ROWS - 10);
});

test.each([
  ["with another record", 200, { data: aSignal(1, { accountId: 1 }) }],
  ["301", 301, { message: "moved" }],
  ["308", 308, { message: "moved" }],
] as const)("a record whose route answers %s was merged into another, and is gone", async (_, status, body) => {
  const { unlist, walk, held } = await start();
  unlist(status, body);
  const { error, of } = await walk();
  expect([error, held()]).toEqual([null, ROWS - 1]);
  expect(of("signals")).toMatchObject({ complete: true, deleted: 1 });
});

test("a 302 by id may be a gateway's for the moment: the row stays until a second walk lacks it", async () => {
  const { unlist, walk, held } = await start();
  unlist(302, "");
  await walk();
  expect(held()).toBe(ROWS);
});

test("without a count, a list that lacks a row which its own route returns is not complete", async () => {
  const { unlist, walk, held } = await start({ totals: false, maxPerPage: 50 });
  unlist(200, ARCHIVED);
  const reason = "the list lacks 1 row, which the service returns by id";
  expect((await walk()).of("signals")).toMatchObject({ complete: false, unconfirmed: 1, reason });
  expect(held()).toBe(ROWS);
});

test("rows behind a search window that the count ends at stay, however often the list is read", async () => {
  const { service, walk, held } = await start({ maxPerPage: 10 });
  const behind = service.data.signals.splice(0, 10);
  service.answerInstead(({ path }) => {
    const row = behind.find(({ id }) => path === `/v1/signals/${id}`);
    return row === undefined ? undefined : { status: 200, body: { data: row } };
  });
  for (const _ of [1, 2, 3, 4]) await walk();
  expect(held()).toBe(ROWS);
});
