// Job check-data: runs the user's checks by hand on the content of the working file, which the next sync would publish. It publishes and
// notes nothing.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { snapshotPath } from "../src/core/data-dir.ts";
import { DuckmirrorError, detailOf, hasSystemCode } from "../src/core/errors.ts";
import { checkProblem, runChecks } from "../src/warehouse/file/checks/run-checks.ts";
import { starterChecks } from "../src/warehouse/file/checks/starter-checks.ts";
import { isUnused } from "../src/warehouse/file/empty-mirror.ts";
import { openWarehouse } from "../src/warehouse/file/warehouse.ts";
import type { CheckResult } from "../src/warehouse/read/check-results.ts";

export interface CheckedData {
  readonly results: readonly CheckResult[];
  /** CHECK_FAILED or CHECK_BROKEN; null: neither. */
  readonly error: DuckmirrorError | null;
}

/** Runs the checks. Throws CHECKS_MISSING, SNAPSHOT_MISSING, WRITER_BUSY. */
export const checkDataJob = async (config: Config, { clock }: { readonly clock: Clock }): Promise<CheckedData> => {
  const { dataDir, memory, checks } = config;
  if (checks === null) throw new DuckmirrorError("CHECKS_MISSING");
  if (isUnused(dataDir)) throw new DuckmirrorError("SNAPSHOT_MISSING", { file: snapshotPath(dataDir) });
  const warehouse = await openWarehouse({ dataDir, clock, memory });
  try {
    const results = await runChecks(warehouse.database, checks, { runId: null, now: clock.now() });
    return { results, error: checkProblem(results) };
  } finally {
    await warehouse.close();
  }
};

/** Writes the starter checks, and leaves files that exist. Returns the paths written. Throws USAGE. */
export const writeStarterChecks = async (folder: string): Promise<readonly string[]> => {
  const written: string[] = [];
  try {
    await mkdir(folder, { recursive: true });
    for (const { name, text } of starterChecks()) {
      const path = join(folder, name);
      try {
        await writeFile(path, text, { flag: "wx" });
        written.push(path);
      } catch (error) {
        if (!hasSystemCode(error, "EEXIST")) throw error;
      }
    }
  } catch (cause) {
    throw new DuckmirrorError("USAGE", { detail: `${folder} cannot be written: ${detailOf(cause)}` }, { cause });
  }
  return written;
};
