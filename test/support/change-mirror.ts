// Changes a mirror and publishes it, for tests of what reads snapshots.
import { systemClock } from "../../src/core/clock.ts";
import { openWarehouse, type Warehouse } from "../../src/warehouse/file/warehouse.ts";
import { copyMigratedMirror } from "./migrated-mirror.ts";

/** Changes the mirror in `dataDir`, which is made if need be, and publishes it. */
export const change = async (dataDir: string, work: (warehouse: Warehouse) => Promise<unknown>): Promise<void> => {
  await copyMigratedMirror(dataDir);
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  try {
    await work(warehouse);
    await warehouse.publish();
  } finally {
    await warehouse.close();
  }
};
