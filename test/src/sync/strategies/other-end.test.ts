// A list whose deep pages the service refuses is read from both ends.
import { expect, test } from "vitest";
import { emptyCoverage } from "../../../../src/sync/strategies/coverage.ts";
import { joinEnds, reachesFromEnd, readsFromEnd } from "../../../../src/sync/strategies/other-end.ts";
import { resumeProgress, serialiseProgress } from "../../../../src/sync/strategies/progress.ts";
import { acceptWalk, fromOtherEnd, hasOtherEnd, nextWalk, startWalk } from "../../../../src/sync/strategies/walk.ts";
import { afterTest } from "../../../support/after-test.ts";
import { aContact, anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeOptions, type FakeService } from "../../../support/fake-service.ts";
import { startSyncRig } from "../../../support/sync-rig.ts";

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

const started = async (service: FakeService, env: Record<string, string> = {}) => {
  const rig = await startSyncRig(service, { DUCKMIRROR_STREAMS: "contacts", ...env });
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

test("the rest is read from the other end only if it is shorter than what was read", () => {
  const read = { ...emptyCoverage(10, true), end: DEPTH };
  expect([null, 60, 61, 110, 111, 500].map((total) => reachesFromEnd({ ...read, total }))).toEqual([
    false,
    false,
    true,
    true,
    false,
    false,
  ]);
  expect(reachesFromEnd({ ...read, end: 0, total: 5 })).toBe(false);
});

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => String(from + at));
const page = (ids: readonly string[], at: number, total: number) =>
  ({ page: at, perPage: 10, role: "cover", ids, rows: ids.length, values: [], total }) as const;

test("both parts must share a row, and their counts agree", () => {
  const head = acceptWalk(
    startWalk({ size: 10, overlap: false, proof: "descending" }),
    page(numbers(10, 19).toReversed(), 1, 14),
  );
  expect(hasOtherEnd(head)).toBe(false);
  const turned = fromOtherEnd(head);
  expect(resumeProgress(serialiseProgress(turned))).toEqual(turned);
  const ends = (ids: readonly string[], total: number) => acceptWalk(turned, page(ids, 1, total)).coverage;
  expect(ends(numbers(6, 15), 14)).toMatchObject({ complete: true, proven: true, moved: false });
  expect(ends(numbers(6, 15), 13)).toMatchObject({ complete: true, moved: true });
  expect(ends(numbers(0, 9), 14)).toMatchObject({ complete: true, proven: false });
  expect(ends(numbers(6, 15).toReversed(), 14)).toMatchObject({ complete: true, proven: false });
  expect(ends(numbers(0, 9), 40)).toMatchObject({ complete: false });
  expect(
    nextWalk(turned, { rows: 10, matching: null, seen: 10, rejected: 0, last: null, acceptedGap: 0 }, [], 4),
  ).toEqual({
    kind: "read",
    reads: [{ page: 1, perPage: 10, role: "cover" }],
  });
});

test("no page is requested that lies within what was read from the head", () => {
  const head = { coverage: { ...emptyCoverage(10, true), end: 60 }, joined: false };
  const other = { ...emptyCoverage(10, true), end: 30, total: 100 };
  const reads = [4, 5, 6].map((at) => ({ page: at, perPage: 10, role: "cover" }) as const);
  expect(readsFromEnd(head, other, reads).map(({ page }) => page)).toEqual([4, 5]);
  const joined = joinEnds(head, emptyCoverage(10, true), { read: page([], 1, 50), ordered: true });
  expect(joined.coverage).toMatchObject({ complete: true, proven: false });
});
