// Changes a mirror and publishes it, for tests of what reads snapshots.
import { systemClock } from "../../src/core/clock.ts";
import { openWarehouse, type Warehouse } from "../../src/warehouse/file/warehouse.ts";
import type { WarehouseOptions } from "../../src/warehouse/file/working-file.ts";
import { copyMigratedMirror } from "./migrated-mirror.ts";

/** Changes the mirror in `dataDir`, which is made if need be, and publishes it. */
export const change = async (
  dataDir: string,
  work: (warehouse: Warehouse) => Promise<unknown>,
  options: Partial<WarehouseOptions> = {},
): Promise<void> => {
  await copyMigratedMirror(dataDir);
  const warehouse = await openWarehouse({ dataDir, clock: systemClock, ...options });
  try {
    await work(warehouse);
    await warehouse.publish();
  } finally {
    await warehouse.close();
  }
};
