// A scope that gains values of one filter reads what is missing: the added rows, then the changes, until equal counts
// prove the rest.
import { expect, test } from "vitest";
import { planJob } from "../../../../jobs/plan.ts";
import { vocabulary } from "../../../../src/catalog/field-rules.ts";
import { resolveConfig } from "../../../../src/core/config/config.ts";
import { afterTest } from "../../../support/after-test.ts";
import { anAccount, aSignal } from "../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeOptions, type FakeService } from "../../../support/fake-service.ts";
import { type SyncRig, simulatedClock, startSyncRig } from "../../../support/sync-rig.ts";

const HOUR_MS = 3_600_000;
const TYPES = ["podcast", "funding-alert", "press-release"] as const;
const PODCASTS = { signals: { type: ["podcast"] } };
const BOTH = { signals: { type: ["funding-alert", "podcast"] } };
const REQUEST = { streams: ["signals"] };

/** A mirror of signals of three types: `sizes` rows of each, in pages of `page` rows, older than two hours. */
const start = async (sizes: readonly number[], page: number, options: FakeOptions = {}) => {
  const service = createFakeService(emptyData(), { maxPerPage: page, overPage: "honest", ...options });
  const clock = simulatedClock();
  const at = (hoursAgo: number) => new Date(clock.now() - hoursAgo * HOUR_MS).toISOString();
  const left = sizes.map((size) => size);
  for (let id = 1; left.some((size) => size > 0); id++) {
    const index = left.findIndex((size, position) => size > 0 && (id + position) % 3 !== 0);
    const kind = index === -1 ? left.findIndex((size) => size > 0) : index;
    left[kind] = (left[kind] ?? 0) - 1;
    service.data.signals.push(aSignal(id, { type: TYPES[kind], updatedAt: at(1000 - id / 20) }));
  }
  const rig = await startSyncRig(service, {}, clock);
  afterTest(() => rig.close());
  const sync = async (scope: object, request: Parameters<SyncRig["sync"]>[0] = REQUEST) => {
    const before = service.log.length;
    const { report, error } = await rig.sync(request, { DUCKMIRROR_SCOPE: JSON.stringify(scope) });
    const sent = service.log.slice(before).filter(({ path }) => path === "/v1/signals");
    const complete = report.streams.every((stream) => stream.complete);
    return { error, complete, sent };
  };
  const planned = async (scope: object) => {
    const env = { DUCKMIRROR_DATA_DIR: rig.dataDir, DUCKMIRROR_SCOPE: JSON.stringify(scope) };
    const config = resolveConfig({ flags: {}, env, file: null, cwd: rig.dataDir, vocabulary: vocabulary() });
    const request = { ...REQUEST, full: false, maxDurationMs: null, allowMassDelete: false };
    const [stream] = (await planJob(config, request, clock)).forecast.streams;
    return [stream?.requests, stream?.atLeast, ...(stream?.because.map(({ reason }) => reason) ?? [])];
  };
  const inside = async () =>
    (await rig.rows("select id from signals where _in_scope order by id")).map(({ id }) => Number(id));
  const there = (types: readonly string[]) =>
    service.data.signals
      .filter(({ type }) => types.includes(String(type)))
      .map(({ id }) => Number(id))
      .sort((a, b) => a - b);
  return { service, clock, rig, sync, planned, inside, there, at };
};

const ofType = ({ data }: FakeService, type: string) => data.signals.filter((row) => row.type === type);
const first = <T>(values: readonly T[], index = 0): T => {
  const value = values[index];
  if (value === undefined) throw new Error("there are rows");
  return value;
};

const asked = (sent: FakeService["log"]) =>
  sent.filter(({ status }) => status === 200).map(({ query }) => `${query.type} by ${query.sortBy}`);
const added = "funding-alert by id";
const changes = "funding-alert,podcast by updatedAt";
const whole = "funding-alert,podcast by id";

test("5,000 rows widened by 200 in pages of 100: 4 credits instead of 60", async () => {
  const { clock, sync, planned, inside, there } = await start([5000, 200, 100], 100);
  await sync(PODCASTS);
  await clock.sleep(24 * HOUR_MS);
  // How many rows it adds is not known.
  expect(await planned(BOTH)).toEqual([1, true, "its scope is wider: what that adds is read, then the changes"]);
  const other = { signals: { ...BOTH.signals, since: "2026-01-01" } };
  expect(await planned(other)).toEqual([1, true, "its scope changed, so the list is read whole"]);
  const wider = await sync(BOTH);
  expect([wider.error, wider.complete]).toEqual([null, true]);
  expect(await inside()).toEqual(there(BOTH.signals.type));
  expect(asked(wider.sent)).toEqual([added, added, added, changes]);
  expect((await sync(BOTH)).sent).toHaveLength(1);
  const full = await sync(BOTH, { ...REQUEST, full: true });
  expect(asked(full.sent)).toEqual(Array.from({ length: 60 }, () => whole));
});

test("a row behind a page without news, and a deleted row that balances it: the list is walked whole", async () => {
  const { service, clock, sync, inside, there, at } = await start([30, 20, 10], 10);
  await sync(PODCASTS);
  await clock.sleep(24 * HOUR_MS);
  service.data.signals.splice(service.data.signals.indexOf(first(ofType(service, "podcast"))), 1);
  Object.assign(first(ofType(service, "press-release")), { type: "podcast", updatedAt: at(9) });
  // The walk of the added values returns these, so the first page of the changes shows nothing new.
  for (const row of ofType(service, "funding-alert").slice(0, 12)) row.updatedAt = at(3);
  const wider = await sync(BOTH);
  expect([wider.error, wider.complete]).toEqual([null, true]);
  expect(await inside()).toEqual(there(BOTH.signals.type));
  expect(asked(wider.sent)).toContain(whole);
});

test("rows that change places between the two readings are inside once", async () => {
  const { service, clock, sync, inside, there, at } = await start([30, 20, 10], 10);
  await sync(PODCASTS);
  await clock.sleep(24 * HOUR_MS);
  const [leaving, coming] = [first(ofType(service, "podcast"), 5), first(ofType(service, "funding-alert"), 5)];
  let swapped = false;
  service.options = {
    ...service.options,
    before: ({ query }) => {
      if (swapped || query.sortBy !== "updatedAt") return undefined;
      swapped = true;
      Object.assign(leaving, { type: "funding-alert", updatedAt: at(0) });
      Object.assign(coming, { type: "podcast", updatedAt: at(0) });
      return undefined;
    },
  };
  const wider = await sync(BOTH);
  expect([swapped, wider.error, wider.complete]).toEqual([true, null, true]);
  expect(await inside()).toEqual(there(BOTH.signals.type));
  expect(asked(wider.sent)).not.toContain(whole);
});

/** Widens until the service fails at request number `at`. */
const interruptedAt = async ({ service, sync }: Awaited<ReturnType<typeof start>>, at: number) => {
  const from = service.log.filter(({ status }) => status === 200).length + at;
  const down = () => service.log.filter(({ status }) => status === 200).length + 1 >= from;
  service.options = { ...service.options, before: () => (down() ? { status: 503, body: {} } : undefined) };
  const { error, complete } = await sync(BOTH);
  service.options = { ...service.options, before: () => undefined };
  expect([error?.code, complete]).toEqual(["STREAMS_FAILED", false]);
};

test.each([2, 3, 4])("interrupted at request %i, it goes on there, and reads every change", async (at) => {
  const rig = await start([30, 20, 10], 10);
  await rig.sync(PODCASTS);
  await rig.clock.sleep(24 * HOUR_MS);
  await interruptedAt(rig, at);
  await rig.clock.sleep(HOUR_MS);
  Object.assign(first(ofType(rig.service, "press-release")), { type: "podcast", updatedAt: rig.at(0) });
  const rest = await rig.sync(BOTH);
  expect([rest.error, rest.complete]).toEqual([null, true]);
  expect(await rig.inside()).toEqual(rig.there(BOTH.signals.type));
  expect(asked(rest.sent)).not.toContain(whole);
});

test.each([
  ["back to the narrow scope", PODCASTS],
  ["to another one", { signals: { type: ["podcast", "press-release"] } }],
])("a scope that changes %s while it widens is read whole", async (_, scope) => {
  const rig = await start([30, 20, 10], 10);
  await rig.sync(PODCASTS);
  await rig.clock.sleep(24 * HOUR_MS);
  await interruptedAt(rig, 3);
  const { error, complete, sent } = await rig.sync(scope);
  const types = [...scope.signals.type].sort();
  expect([error, complete]).toEqual([null, true]);
  expect(await rig.inside()).toEqual(rig.there(types));
  expect(new Set(asked(sent))).toEqual(new Set([`${types.join(",")} by id`]));
});

test.each<[string, FakeOptions]>([
  ["does not count", { totals: false }],
  ["does not sort", { sort: "ignore" }],
])("a service that %s has the list read whole", async (_, options) => {
  const { service, clock, sync, inside, there } = await start([30, 20, 10], 10);
  await sync(PODCASTS);
  await clock.sleep(24 * HOUR_MS);
  service.options = { ...service.options, ...options };
  await sync(BOTH);
  expect(await inside()).toEqual(there(BOTH.signals.type));
  expect(asked(service.log)).toContain(whole);
});

test("a service that ignores a filter of several values is noticed at the changes", async () => {
  const { service, clock, sync, inside, there, at } = await start([30, 20, 10], 10);
  await sync(PODCASTS);
  await clock.sleep(24 * HOUR_MS);
  first(ofType(service, "press-release")).updatedAt = at(2);
  const unfiltered = ({ type: _, ...query }: Readonly<Record<string, string>>) => query;
  service.options = {
    ...service.options,
    before: ({ path, query }) =>
      query.type?.includes(",") === true ? service.answer(path, unfiltered(query)) : undefined,
  };
  const wider = await sync(BOTH);
  expect([wider.error, wider.complete]).toEqual([null, true]);
  expect(await inside()).toEqual(there(BOTH.signals.type));
});

test("--erase while it widens removes no row that is read for the wider scope", async () => {
  const rig = await start([30, 20, 10], 10);
  await rig.sync({});
  await rig.sync(PODCASTS);
  await rig.clock.sleep(24 * HOUR_MS);
  await interruptedAt(rig, 3);
  const { report } = await rig.rig.sync(
    { streams: ["accounts"], eraseOutside: true },
    { DUCKMIRROR_SCOPE: JSON.stringify(BOTH) },
  );
  expect(report.streams.map(({ deleted }) => deleted)).toEqual([0]);
  expect(await rig.rig.rows("select count(*) n from history.signals where change = 'delete'")).toEqual([{ n: 0 }]);
  await rig.sync(BOTH);
  expect(await rig.inside()).toEqual(rig.there(BOTH.signals.type));
});

test("accounts: three types instead of two", async () => {
  const { service, clock, rig } = await start([], 10);
  const types = ["customer", "prospect", "churned", "other"];
  for (let id = 1; id <= 40; id++) service.data.accounts.push(anAccount(id, { type: types[id % 4] }));
  const sync = (type: readonly string[]) =>
    rig.sync({ streams: ["accounts"] }, { DUCKMIRROR_SCOPE: JSON.stringify({ accounts: { type } }) });
  await sync(types.slice(0, 2));
  await clock.sleep(24 * HOUR_MS);
  const before = service.log.length;
  const { error } = await sync(types.slice(0, 3));
  const sent = service.log.slice(before).filter(({ status }) => status === 200);
  expect([error, sent.map(({ query }) => query.type)]).toEqual([null, ["churned", "churned,customer,prospect"]]);
  expect(await rig.rows("select count(*) n from accounts where _in_scope")).toEqual([{ n: 30 }]);
});
