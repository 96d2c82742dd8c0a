// Rows that are gone from a long list, found by counting its parts.
import { expect, test } from "vitest";
import { aContact, aSignal } from "../../../../support/fake-data.ts";
import {
  createFakeService,
  emptyData,
  type FakeOptions,
  type FakeService,
  idsOf,
} from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";
import { simulatedClock } from "../../../../support/sync-rig.ts";

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 1);
const ROWS = 40 * 25;
const iso = (hours: number) => new Date(START + hours * 3_600_000).toISOString();

/** Forty pages of signals, or of contacts, five and a half hours apart, mirrored; each sync after must end equal. */
const mirrored = async (stream: "signals" | "contacts", options: FakeOptions = {}) => {
  const service = createFakeService(emptyData(), { maxPerPage: 25, overPage: "honest", ...options });
  for (let id = 1; id <= ROWS; id++) {
    const [date, updatedAt] = [iso(id * 5.5), iso((id * 7919) % ROWS)];
    if (stream === "signals") service.data.signals.push(aSignal(id, { date, updatedAt, createdAt: date }));
    else service.data.contacts.push(aContact(`p_${id}`, { inCurrentRoleSince: date, lastChangeDetectedOn: updatedAt }));
  }
  const { sync, ids, clock } = await startMemoryRig(service, { DUCKMIRROR_STREAMS: stream }, simulatedClock());
  await sync();
  const isEqual = () => String(ids(stream)) === String(idsOf(service.data[stream]));
  /** One row goes; then a sync. */
  const syncWithout = async (at: number) => {
    service.data[stream].splice(at, 1);
    const synced = await sync();
    expect(isEqual()).toBe(true);
    return synced;
  };
  return { sync, syncWithout, isEqual, clock, drop: (at: number) => service.data[stream].splice(at, 1) };
};

test.each([
  ["signal", "signals", { beforeDates: "exclusive" }, 10],
  ["signal", "signals", { beforeDates: "inclusive" }, 10],
  ["signal", "signals", { beforeDates: "whole-day" }, 10],
  ["contact", "contacts", {}, 11],
] as const)(
  "one %s that is gone of %s is found by counting, where a date filter is %j, for %i credits",
  async (_, stream, options, most) => {
    const { syncWithout } = await mirrored(stream, options);
    const { of, paid } = await syncWithout(333);
    expect(of(stream)).toMatchObject({ deleted: 1, complete: true });
    expect(paid).toBeLessThanOrEqual(most);
  },
);

test("a service that ignores its date filters is walked as before, for a count more, and is not asked again at once", async () => {
  const { syncWithout, clock } = await mirrored("signals", { filters: "ignore" });
  const counts = (sent: FakeService["log"]) => sent.filter(({ query }) => query.beforeDate !== undefined).length;
  const first = await syncWithout(333);
  const second = await syncWithout(444);
  expect([counts(first.sent), counts(second.sent), first.paid - second.paid]).toEqual([1, 0, 1]);
  await clock.sleep(2 * DAY_MS);
  expect(counts((await syncWithout(555)).sent)).toBe(1);
});

test("a search that a budget cuts goes on in the next sync, with what was counted", async () => {
  const { sync, syncWithout, isEqual, drop } = await mirrored("signals");
  const whole = await syncWithout(120);
  drop(640);
  let total = 0;
  for (let syncs = 1; !isEqual(); syncs++) {
    const { paid } = await sync({}, { DUCKMIRROR_MAX_CREDITS: "4" });
    total += paid;
    expect(paid).toBeLessThanOrEqual(4);
    expect(syncs).toBeLessThan(6);
  }
  // Each sync reads the changes anew.
  expect(total).toBeLessThanOrEqual(whole.paid + 4);
});
