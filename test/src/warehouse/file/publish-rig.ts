// A mirror of twelve accounts, whose syncs say whether they published a new snapshot.
import { statSync } from "node:fs";
import { join } from "node:path";
import { aContact, anAccount, aSignal } from "../../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../../support/fake-service.ts";
import { simulatedClock, startSyncRig } from "../../../support/sync-rig.ts";

const STREAMS = ["accounts", "contacts", "signals"];

export const startPublishing = async (env: Record<string, string> = {}) => {
  const service = createFakeService(emptyData(), { maxPerPage: 10, overPage: "honest", credits: 10_000 });
  for (let id = 1; id <= 12; id++) {
    service.data.accounts.push(anAccount(id));
    service.data.contacts.push(aContact(`p_${id}`, { accountId: id }));
    service.data.signals.push(aSignal(id, { accountId: id }));
  }
  const clock = simulatedClock();
  const rig = await startSyncRig(service, { DUCKMIRROR_PUBLISH_UNCHANGED_BELOW: "0B", ...env }, clock);
  const snapshot = join(rig.dataDir, "warehouse.duckdb");
  /** Syncs, and returns how it ended and whether there is a new snapshot. */
  const sync = async (more: Record<string, string> = {}) => {
    const before = statSync(snapshot, { throwIfNoEntry: false })?.ino;
    const { report, error } = await rig.sync({ streams: STREAMS }, more);
    await clock.sleep(60_000);
    return { report, error, isNew: statSync(snapshot).ino !== before };
  };
  const settle = async () => {
    await sync();
    while ((await sync()).isNew);
  };
  return { service, rig, clock, snapshot, sync, settle };
};
