// Contacts that come and are erased.
import { systemClock } from "../../src/core/clock.ts";
import { forgetContacts } from "../../src/warehouse/forget/forget.ts";
import { aCheckpoint, aLoad } from "../src/warehouse/checkpoints.ts";
import { change } from "../support/change-mirror.ts";

export const addContacts = (dataDir: string, ids: readonly string[]): Promise<void> =>
  change(dataDir, (warehouse) => {
    const records = ids.map((id) => ({ id, email: `${id}@example.com` }));
    return warehouse.commit(aCheckpoint([aLoad("contacts", records, { receivedAt: Date.now() })]));
  });

/** Erases the contact, as `forget` does. */
export const erase = async (dataDir: string, id: string): Promise<void> => {
  const bodies = () => ({ contacts: () => [], clean: () => null });
  const clock = systemClock;
  await forgetContacts(
    { dataDir, clock },
    { ids: [id], emails: [], all: false, exportDirs: [], bodies, onStep: () => undefined },
  );
};
