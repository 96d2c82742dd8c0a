// An empty mirror, migrated once per process and copied from then on: migrating takes as long as a small sync.
import { mkdtempSync, rmSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openWarehouse } from "../../src/warehouse/file/warehouse.ts";
import { warehousePaths } from "../../src/warehouse/file/working-file.ts";

let made: Promise<string> | null = null;

const make = async (): Promise<string> => {
  const dataDir = mkdtempSync(join(tmpdir(), "duckmirror-migrated-"));
  process.once("exit", () => rmSync(dataDir, { recursive: true, force: true }));
  const clock = { now: () => Date.now(), sleep: async () => undefined };
  const warehouse = await openWarehouse({ dataDir, clock });
  await warehouse.close();
  return warehousePaths(dataDir).working;
};

/** Puts the working file of an empty mirror into `dataDir`, so that the first sync there need not migrate. */
export const copyMigratedMirror = async (dataDir: string): Promise<void> => {
  made ??= make();
  const from = await made;
  const { working } = warehousePaths(dataDir);
  await mkdir(dirname(working), { recursive: true, mode: 0o700 });
  await copyFile(from, working);
};
