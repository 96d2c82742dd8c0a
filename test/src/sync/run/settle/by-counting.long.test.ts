// The prices of docs/PLANNING.md over HTTP: rows that went between two syncs from lists of 300 and 114 pages.
import { expect, test } from "vitest";
import { afterTest } from "../../../../support/after-test.ts";
import { aContact, aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeOptions } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";
import { seededRandom, simulatedClock } from "../../../../support/sync-rig.ts";

const START = Date.UTC(2024, 0, 1);
const SEED = 20261127;

/** A mirror of 30,000 signals and 11,400 contacts over 700 days, dated at any time. */
const mirrored = async (options: FakeOptions) => {
  const random = seededRandom(SEED);
  const service = createFakeService(emptyData(), { maxPerPage: 100, overPage: "honest", ...options });
  const time = () => new Date(START + Math.floor(random() * 700 * 86_400_000)).toISOString();
  for (let id = 1; id <= 30_000; id++) service.data.signals.push(aSignal(id, { date: time(), updatedAt: time() }));
  for (let id = 1; id <= 11_400; id++)
    service.data.contacts.push(aContact(`p_${id}`, { inCurrentRoleSince: time(), lastChangeDetectedOn: time() }));
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "signals,contacts" }, simulatedClock());
  afterTest(() => rig.close());
  await rig.sync();
  const sync = async () => {
    const { report } = await rig.sync();
    const credits = new Map(report.streams.map(({ stream, credits }) => [stream, credits]));
    for (const table of ["signals", "contacts"] as const)
      expect(
        rig
          .rows(table, "id")
          .map(({ id }) => String(id))
          .sort(),
      ).toEqual(service.data[table].map(({ id }) => String(id)).sort());
    return credits;
  };
  const drop = (table: "signals" | "contacts", count: number) => {
    for (let at = 0; at < count; at++) service.data[table].splice(Math.floor(random() * service.data[table].length), 1);
  };
  return { sync, drop };
};

test(`one of 30,000 signals and one of 11,400 contacts cost at most 14 credits each, ten signals at most 80 (seed ${SEED})`, async () => {
  const { sync, drop } = await mirrored({});
  drop("signals", 1);
  drop("contacts", 1);
  const one = await sync();
  drop("signals", 10);
  const ten = await sync();
  process.stdout.write(
    `one signal ${one.get("signals")}, one contact ${one.get("contacts")}, ten signals ${ten.get("signals")} credits\n`,
  );
  expect(one.get("signals")).toBeLessThanOrEqual(14);
  expect(one.get("contacts")).toBeLessThanOrEqual(14);
  expect(ten.get("signals")).toBeLessThanOrEqual(80);
}, 300_000);
