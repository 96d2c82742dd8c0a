// Records that left their list and are still served by their id: the list decides once two walks lack them. A search window that
// cuts a list off decides nothing. Shows P3.
import { expect, test } from "vitest";
import { aContact, anAccount, aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeService, type Row } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";

const SIGNALS = 60;
const LEFT = 25;

const start = async (totals = true) => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  for (let id = 1; id <= SIGNALS; id++) data.signals.push(aSignal(id, { accountId: 1 }));
  const service = createFakeService(data, totals ? {} : { totals, maxPerPage: 50 });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,signals" });
  expect((await rig.sync()).error).toBeNull();
  return { service, ...rig };
};

/** Takes a signal out of its list; its own route answers with `answer`. */
const unlist = (service: FakeService, id: number, answer: (row: Row) => Row) => {
  const row = service.data.signals.find((signal) => signal.id === id) ?? aSignal(id, { accountId: 1 });
  service.data.signals = service.data.signals.filter((signal) => signal !== row);
  service.answerInstead(({ path }) =>
    path === `/v1/signals/${id}` ? { status: 200, body: { data: answer(row) } } : undefined,
  );
};

const probesOf = ({ log }: FakeService, from: number) =>
  log.slice(from).filter(({ path }) => path.startsWith("/v1/signals/")).length;

test("an archived record moves to history when a second walk lacks it, and is not asked for again", async () => {
  const { service, sync, rows } = await start();
  unlist(service, LEFT, (row) => ({ ...row, archived: true }));
  // Allowing mass deletes proves nothing of one row.
  const first = await sync({ streams: ["signals"], full: true, allowMassDelete: true });
  expect(first.error?.code).toBe("STREAMS_FAILED");
  expect(rows("signals", "id")).toHaveLength(SIGNALS);
  const from = service.log.length;
  for (const full of [false, true]) expect((await sync({ streams: ["signals"], full })).error).toBeNull();
  expect(rows("signals", "id").filter(({ id }) => Number(id) === LEFT)).toEqual([]);
  expect(rows("signals", "id")).toHaveLength(SIGNALS - 1);
  expect(probesOf(service, from)).toBe(0);
});

test("nine contacts that are gone and one that is archived leave together: no row and no credit more after two syncs", async () => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  for (let id = 1; id <= SIGNALS; id++) data.contacts.push(aContact(`ct_${id}`, { accountId: 1 }));
  const service = createFakeService(data);
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts" });
  await rig.sync();
  const [archived] = data.contacts.splice(0, 10);
  service.answerInstead(({ path }) =>
    path === `/v1/contacts/${archived?.id}` ? { status: 200, body: { data: archived } } : undefined,
  );
  const credits: number[] = [];
  const codes: (string | undefined)[] = [];
  for (const _ of [1, 2, 3, 4]) {
    const { error, report } = await rig.sync();
    codes.push(error?.code);
    credits.push(report.credits.spent);
  }
  expect(rig.rows("contacts", "id")).toHaveLength(SIGNALS - 10);
  expect(codes.slice(1)).toEqual([undefined, undefined, undefined]);
  expect(credits.slice(2)).toEqual([2, 2]);
});

test("a record whose route answers with another one was merged into that, and is gone", async () => {
  const { service, sync, rows } = await start();
  unlist(service, LEFT, () => aSignal(1, { accountId: 1 }));
  expect((await sync({ streams: ["signals"], full: true })).error).toBeNull();
  expect(rows("signals", "id")).toHaveLength(SIGNALS - 1);
});

test.each([301, 308])("a record whose route answers %i was merged into another, and is gone", async (status) => {
  const { service, sync, rows } = await start();
  unlist(service, LEFT, (row) => row);
  service.answerInstead(({ path }) =>
    path === `/v1/signals/${LEFT}` ? { status, body: { message: "moved" } } : undefined,
  );
  const { error, report } = await sync({ streams: ["signals"], full: true });
  expect(error).toBeNull();
  expect(report.streams[0]).toMatchObject({ stream: "signals", complete: true, deleted: 1 });
  expect(rows("signals", "id")).toHaveLength(SIGNALS - 1);
});

test("a 302 by id may be a gateway's for the moment: the row stays until a second walk lacks it", async () => {
  const { service, sync, rows } = await start();
  unlist(service, LEFT, (row) => row);
  service.answerInstead(({ path }) => (path === `/v1/signals/${LEFT}` ? { status: 302, body: "" } : undefined));
  await sync({ streams: ["signals"], full: true });
  expect(rows("signals", "id")).toHaveLength(SIGNALS);
});

test("without a count, a list that lacks a row which its own route returns is not complete", async () => {
  const { service, sync, rows } = await start(false);
  unlist(service, LEFT, (row) => ({ ...row, archived: true }));
  const { report } = await sync({ streams: ["signals"], full: true });
  const because = "the list lacks 1 row, which the service returns by id";
  expect(report.streams[0]).toMatchObject({ complete: false, unconfirmed: 1, reason: because });
  expect(rows("signals", "id")).toHaveLength(SIGNALS);
});

test("rows behind a search window that the count ends at stay, however often the list is read", async () => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  for (let id = 1; id <= SIGNALS; id++) data.signals.push(aSignal(id, { accountId: 1 }));
  const service = createFakeService(data, { maxPerPage: 10 });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,signals" });
  expect((await rig.sync()).error).toBeNull();
  const behind = service.data.signals.splice(0, 10);
  service.answerInstead(({ path }) => {
    const row = behind.find(({ id }) => path === `/v1/signals/${id}`);
    return row === undefined ? undefined : { status: 200, body: { data: row } };
  });
  for (const _ of [1, 2, 3, 4]) await rig.sync({ streams: ["signals"], full: true });
  expect(rig.rows("signals", "id")).toHaveLength(SIGNALS);
});
