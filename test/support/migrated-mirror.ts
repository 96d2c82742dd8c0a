// An empty mirror, migrated once per test run and copied from then on: migrating takes five times as long as copying.
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { openWarehouse } from "../../src/warehouse/file/warehouse.ts";
import { warehousePaths } from "../../src/warehouse/file/working-file.ts";
import { noteClosed } from "../../src/warehouse/user-sql/trusted-files.ts";
import { RUN_FOLDER } from "../setup/one-folder.ts";

let made: Promise<string> | null = null;

const migrate = async (): Promise<string> => {
  const dataDir = mkdtempSync(join(tmpdir(), "duckmirror-migrated-"));
  process.once("exit", () => rmSync(dataDir, { recursive: true, force: true }));
  const clock = { now: () => Date.now(), sleep: async () => undefined };
  const warehouse = await openWarehouse({ dataDir, clock });
  await warehouse.close();
  return warehousePaths(dataDir).working;
};

/** Path of the migrated file. The processes of a run share it; the first that needs it makes it. */
const migrated = async (): Promise<string> => {
  // Outside a run's folder a file of an older schema could be left.
  if (!basename(tmpdir()).startsWith(RUN_FOLDER)) return migrate();
  const shared = join(tmpdir(), "migrated.duckdb");
  if (!existsSync(shared)) renameSync(await migrate(), shared);
  return shared;
};

/** Copies the file to `path`: every table without a row, and the views. */
export const copyMigratedFile = async (path: string): Promise<void> => {
  made ??= migrated();
  copyFileSync(await made, path);
};

/**
 * Puts the working file of an empty mirror into `dataDir`, so that opening it need not migrate. Keeps a mirror that is
 * there.
 */
export const copyMigratedMirror = async (dataDir: string): Promise<void> => {
  const { working, state } = warehousePaths(dataDir);
  if (existsSync(state)) return;
  mkdirSync(dirname(working), { recursive: true, mode: 0o700 });
  await copyMigratedFile(working);
  await noteClosed(working);
};
