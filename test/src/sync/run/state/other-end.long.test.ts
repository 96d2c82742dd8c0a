// A list whose deep pages the service refuses is read from both ends: whole syncs.
import { expect, test } from "vitest";
import { afterTest } from "../../../../support/after-test.ts";
import { aContact, anOrganization } from "../../../../support/fake-data.ts";
import { createFakeService, type FakeOptions, type FakeService } from "../../../../support/fake-service.ts";
import { hurriedClock, simulatedClock, startSyncRig } from "../../../../support/sync-rig.ts";

const DEPTH = 60;
const contacts = (count: number) =>
  Array.from({ length: count }, (_, row) =>
    aContact(`p_${String(row).padStart(3, "0")}`, {
      lastChangeDetectedOn: new Date(Date.UTC(2020, 0, row + 1)).toISOString(),
    }),
  );

const isDeep = ({ page, perPage }: Readonly<Record<string, string>>) =>
  Number(page) > 1 && Number(page) * Number(perPage) > DEPTH;

/** A service with contacts only, which refuses pages behind row 60 without a word about why. */
const aService = (count: number, options: FakeOptions = {}): FakeService => {
  const data = { ...anOrganization(1), contacts: contacts(count) };
  const before: FakeOptions["before"] = ({ query }) => (isDeep(query) ? { status: 400, body: {} } : undefined);
  return createFakeService(data, { maxPerPage: 10, before, ...options });
};

const started = async (service: FakeService, env: Record<string, string> = {}, clock = hurriedClock()) => {
  const rig = await startSyncRig(service, { DUCKMIRROR_STREAMS: "contacts", ...env }, clock);
  afterTest(() => rig.close());
  const rows = async () => (await rig.rows("SELECT id FROM contacts ORDER BY id")).map(({ id }) => id);
  return { rig, rows };
};
const ids = ({ data }: FakeService) => data.contacts.map(({ id }) => id);

test("a list of 100 rows whose pages behind row 60 are refused is mirrored whole, and so are its deletes", async () => {
  const service = aService(100);
  const { rig, rows } = await started(service);
  const first = await rig.sync();
  expect([first.error, first.report.streams[0]?.complete]).toEqual([null, true]);
  expect(await rows()).toEqual(ids(service));
  // Ten full pages; but they share rows, and both ends meet in one.
  expect(first.report.credits.spent).toBeLessThanOrEqual(16);
  const unchanged = await rig.sync();
  expect([unchanged.error, unchanged.report.credits.spent]).toEqual([null, 1]);
  service.data.contacts.splice(20, 1);
  service.data.contacts.splice(80, 1);
  const full = await rig.sync({ full: true });
  expect([full.error, full.report.streams[0]]).toMatchObject([null, { complete: true, deleted: 2 }]);
  expect(await rows()).toEqual(ids(service));
});

test("a walk that was cut at any page goes on from the end at which it stood", async () => {
  for (const credits of [3, 6, 7, 8, 10]) {
    const service = aService(100);
    const { rig, rows } = await started(service);
    expect((await rig.sync({}, { DUCKMIRROR_MAX_CREDITS: String(credits) })).error?.code).toBe("BUDGET_SPENT");
    const { error, report } = await rig.sync();
    expect([credits, error, report.streams[0]?.complete]).toEqual([credits, null, true]);
    expect(await rows()).toEqual(ids(service));
    expect(service.spent()).toBeLessThanOrEqual(18);
  }
});

const rename = ({ data }: FakeService, from: number, to: number, at: number) => {
  for (const contact of data.contacts.slice(from, to)) {
    Object.assign(contact, { lastName: `Renamed ${at}`, lastChangeDetectedOn: new Date(at).toISOString() });
  }
};
const names = ({ data }: FakeService) => data.contacts.map(({ id, lastName }) => ({ id, last_name: lastName }));

test("changes that go deeper than the service returns are found by a walk", async () => {
  const service = aService(100);
  const { rig } = await started(service);
  expect((await rig.sync()).error).toBeNull();
  rename(service, 0, 80, Date.now());
  const { error, report } = await rig.sync();
  expect([error, report.streams[0]]).toMatchObject([null, { complete: true, updated: 80 }]);
  expect(await rig.rows("SELECT id, last_name FROM contacts ORDER BY id")).toEqual(names(service));
  expect((await rig.sync()).report.credits.spent).toBe(1);
});

test("a list longer than both ends is paid for once; its changes cost a credit, and it is read whole once it is shorter", async () => {
  const service = aService(160);
  const clock = simulatedClock();
  const { rig, rows } = await started(service, {}, clock);
  const sync = async () => {
    await clock.sleep(3_600_000);
    const { error, report } = await rig.sync();
    return { code: error?.code, spent: report.credits.spent, ...report.streams[0] };
  };
  const first = await sync();
  expect(first).toMatchObject({ code: "STREAMS_FAILED", complete: false, unconfirmed: 40 });
  expect(first.error).toContain("LIST_TOO_DEEP");
  expect(first.error).toContain("returns only 120 of 160 rows of this list");
  expect(await rows()).toEqual([...ids(service).slice(0, 60), ...ids(service).slice(100)]);
  expect(first.spent).toBeLessThanOrEqual(20);
  // Row 80 is behind both ends.
  for (const row of [20, 80, 140]) {
    rename(service, row, row + 1, clock.now());
    expect(await sync()).toMatchObject({ code: "STREAMS_FAILED", complete: false, spent: 1 });
    expect(await rig.rows("SELECT id FROM contacts WHERE last_name LIKE 'Renamed%' ORDER BY id")).toContainEqual({
      id: ids(service)[row],
    });
  }
  expect((await rows()).length).toBe(121);
  // More changes than the service returns are read by another walk, once.
  rename(service, 0, 100, clock.now());
  expect(await sync()).toMatchObject({ code: "STREAMS_FAILED", complete: false, updated: 60 });
  expect(await sync()).toMatchObject({ code: "STREAMS_FAILED", spent: 1 });
  service.data.contacts.splice(60, 50);
  expect(await sync()).toMatchObject({ code: undefined, complete: true });
  expect(await rig.rows("SELECT id, last_name FROM contacts ORDER BY id")).toEqual(names(service));
});

test.each([20, 50])("a row added and row %i deleted while a list is read from both ends are found", async (row) => {
  const service = aService(100);
  const refuses = service.options.before;
  let isChanged = false;
  const before: FakeOptions["before"] = (request) => {
    if (request.query.sortOrder === "asc" && !isChanged) {
      isChanged = true;
      service.data.contacts.splice(row, 1);
      service.data.contacts.push(aContact("p_500", { lastChangeDetectedOn: new Date().toISOString() }));
    }
    return refuses?.(request);
  };
  service.options = { ...service.options, before };
  const { rig, rows } = await started(service);
  const { error, report } = await rig.sync();
  expect([error, isChanged]).toEqual([null, true]);
  // A row that was deleted after it was read is found by the next sync, as in any walk.
  if (row === 20) expect([report.streams[0]?.complete, await rows()]).toEqual([true, ids(service)]);
  const next = await rig.sync();
  expect([next.error, next.report.streams[0]?.complete, await rows()]).toEqual([null, true, ids(service)]);
});

test("a service that returns its list from the head whatever the order costs one page, and is not called complete", async () => {
  const service = aService(100);
  const obeys = service.answer.bind(service);
  const descending: FakeService = Object.create(service, {
    answer: { value: (path: string, query: Record<string, string>) => obeys(path, { ...query, sortOrder: "desc" }) },
  });
  const { rig } = await started(descending);
  const { report } = await rig.sync();
  expect(report.streams[0]?.complete).toBe(false);
  const paid = service.spent();
  expect(paid).toBeLessThanOrEqual(10);
  expect((await rig.sync()).report.streams[0]?.complete).toBe(false);
  expect(service.spent() - paid).toBeLessThanOrEqual(2);
});

test("a service that refuses the other order is asked for it once, and changes are seen", async () => {
  const service = aService(80);
  const refuses = service.options.before;
  const isOther = ({ query }: { readonly query: Readonly<Record<string, string>> }) => query.sortOrder === "asc";
  const before: FakeOptions["before"] = (request) =>
    isOther(request) ? { status: 400, body: {} } : refuses?.(request);
  service.options = { ...service.options, before };
  const { rig, rows } = await started(service);
  expect((await rig.sync()).error?.code).toBe("STREAMS_FAILED");
  expect([(await rows()).length, service.log.filter(isOther).length]).toEqual([DEPTH, 1]);
  rename(service, 5, 6, Date.now());
  const { report } = await rig.sync();
  expect([report.credits.spent, report.streams[0]?.inserted, service.log.filter(isOther).length]).toEqual([1, 1, 1]);
});
