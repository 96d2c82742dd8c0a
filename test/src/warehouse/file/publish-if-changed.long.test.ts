// A source that changes at random: a sync that publishes nothing leaves out nothing.
import { expect, test } from "vitest";
import { seededRandom } from "../../../support/chance.ts";
import { aContact, aSignal } from "../../../support/fake-data.ts";
import { dumpMirror } from "../../../support/mirror-dump.ts";
import { startPublishing } from "./publish-rig.ts";

const SEED = 20261123;
test(`whatever changes: after each sync the snapshot holds what one published just then would (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const { service, rig, clock, sync } = await startPublishing();
  const { accounts, contacts, signals } = service.data;
  const touch = () => new Date(clock.now()).toISOString();
  const changes: readonly (() => void)[] = [
    () => undefined,
    () => undefined,
    () => void signals.push(aSignal(1000 + signals.length, { accountId: 1, updatedAt: touch() })),
    () => void Object.assign(signals[0] ?? {}, { headline: touch(), updatedAt: touch() }),
    () => void signals.pop(),
    () => void Object.assign(accounts[1] ?? {}, { mainScore: random(), updatedAt: touch() }),
    () => void contacts.push(aContact(`q_${contacts.length}`, { accountId: 2, lastChangeDetectedAt: touch() })),
    () => void Object.assign(accounts[2] ?? {}, { newField: touch(), updatedAt: touch() }),
  ];
  let stayed = 0;
  for (let round = 0; round < 25; round++) {
    changes[Math.floor(random() * changes.length)]?.();
    const { isNew } = await sync();
    if (isNew) continue;
    stayed += 1;
    const held = await dumpMirror(rig.dataDir, "warehouse.duckdb");
    for (const [table, rows] of Object.entries(await dumpMirror(rig.dataDir))) {
      const isOwn = /^sync\.(runs|requests|stream_state|journal|audit|change|schema_drift)|usage_snapshots/.test(table);
      if (!isOwn) expect([table, held[table]]).toEqual([table, rows]);
    }
  }
  expect(stayed).toBeGreaterThan(3);
});
