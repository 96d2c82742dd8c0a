// Rows that are gone from a long list, found by counting its parts.
import { expect, test } from "vitest";
import { aContact, aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeOptions, type FakeService } from "../../../../support/fake-service.ts";
import { type MemoryRig, startMemoryRig } from "../../../../support/memory-rig.ts";
import { simulatedClock } from "../../../../support/sync-rig.ts";

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 1);
const PAGES = 40;

/** Forty pages of signals, or of contacts, five and a half hours apart. */
const mirrored = async (stream: "signals" | "contacts", options: FakeOptions = {}) => {
  const service = createFakeService(emptyData(), { maxPerPage: 25, overPage: "honest", ...options });
  for (let id = 1; id <= PAGES * 25; id++) {
    const date = new Date(START + id * 5.5 * 3_600_000).toISOString();
    const updatedAt = new Date(START + ((id * 7919) % (PAGES * 25)) * 3_600_000).toISOString();
    if (stream === "signals") service.data.signals.push(aSignal(id, { date, updatedAt, createdAt: date }));
    else service.data.contacts.push(aContact(`p_${id}`, { inCurrentRoleSince: date, lastChangeDetectedOn: updatedAt }));
  }
  const clock = simulatedClock();
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: stream }, clock);
  await rig.sync();
  return { service, rig, clock, stream };
};
type Mirrored = { service: FakeService; rig: MemoryRig; stream: "signals" | "contacts" };

const drop = ({ service, stream }: Mirrored, ...at: readonly number[]) => {
  const gone = at.map((index) => service.data[stream][index]);
  service.data[stream] = service.data[stream].filter((row) => !gone.includes(row));
};

const oneMoreSync = async ({ service, rig, stream }: Mirrored, env: Record<string, string> = {}) => {
  const before = service.spent();
  const from = service.log.length;
  rig.events.length = 0;
  const { report, error } = await rig.sync({}, env);
  const held = rig.rows(stream, "id").map(({ id }) => String(id));
  const isEqual = String(held.sort()) === String(service.data[stream].map(({ id }) => String(id)).sort());
  const entry = report.streams.find((each) => each.stream === stream);
  return { credits: service.spent() - before, sent: service.log.slice(from), error, isEqual, entry };
};

for (const beforeDates of ["exclusive", "inclusive", "whole-day"] as const) {
  test(`one signal that is gone is found by counting, where a date filter is ${beforeDates}`, async () => {
    const list = await mirrored("signals", { beforeDates });
    drop(list, 333);
    const { credits, isEqual, entry } = await oneMoreSync(list);
    expect({ isEqual, deleted: entry?.deleted, complete: entry?.complete }).toEqual({
      isEqual: true,
      deleted: 1,
      complete: true,
    });
    expect(credits).toBeLessThanOrEqual(10);
  });
}

test("one contact that is gone is found by counting", async () => {
  const list = await mirrored("contacts");
  drop(list, 800);
  const { credits, isEqual, entry } = await oneMoreSync(list);
  expect({ isEqual, deleted: entry?.deleted, complete: entry?.complete }).toEqual({
    isEqual: true,
    deleted: 1,
    complete: true,
  });
  expect(credits).toBeLessThanOrEqual(11);
});

test("a service that ignores its date filters is walked as before, for a count more, and is not asked again at once", async () => {
  const list = await mirrored("signals", { filters: "ignore" });
  drop(list, 333);
  const first = await oneMoreSync(list);
  expect(first.isEqual).toBe(true);
  const counts = first.sent.filter(({ query }) => query.beforeDate !== undefined);
  expect(counts).toHaveLength(1);
  drop(list, 444);
  const second = await oneMoreSync(list);
  expect(second.isEqual).toBe(true);
  expect(second.sent.filter(({ query }) => query.beforeDate !== undefined)).toEqual([]);
  expect(first.credits - second.credits).toBe(1);
  list.rig.events.length = 0;
  await list.clock.sleep(2 * DAY_MS);
  drop(list, 555);
  expect((await oneMoreSync(list)).sent.filter(({ query }) => query.beforeDate !== undefined)).toHaveLength(1);
});

test("a search that a budget cuts goes on in the next sync, with what was counted", async () => {
  const list = await mirrored("signals");
  drop(list, 120);
  const first = await oneMoreSync(list);
  expect(first.isEqual).toBe(true);
  drop(list, 640);
  let total = 0;
  for (let syncs = 1; ; syncs++) {
    const { credits, isEqual } = await oneMoreSync(list, { DUCKMIRROR_MAX_CREDITS: "4" });
    total += credits;
    expect(credits).toBeLessThanOrEqual(4);
    if (isEqual) break;
    expect(syncs).toBeLessThan(6);
  }
  // Each sync reads the changes anew.
  expect(total).toBeLessThanOrEqual(first.credits + 4);
});
