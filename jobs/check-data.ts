// Job check-data: runs the user's checks by hand on the content of the working file, which the next sync would publish. It publishes and
// notes nothing. A mirror with a home is brought here first. `writeStarterChecks` writes a folder of first checks.
import { join } from "node:path";
import type { Clock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { snapshotPath } from "../src/core/data-dir.ts";
import { DuckmirrorError, detailOf, hasSystemCode } from "../src/core/errors.ts";
import { makeFolders, writeNewSync } from "../src/core/files/own-files.ts";
import { checkProblem, runChecks } from "../src/warehouse/file/checks/run-checks.ts";
import { starterChecks } from "../src/warehouse/file/checks/starter-checks.ts";
import type { CheckResult } from "../src/warehouse/read/check-results.ts";
import { followHome, withWarehouse } from "./home.ts";

export interface CheckedData {
  readonly results: readonly CheckResult[];
  /** CHECK_FAILED or CHECK_BROKEN; null: neither. */
  readonly error: DuckmirrorError | null;
}

/** Runs the checks. Throws CHECKS_MISSING, SNAPSHOT_MISSING, WRITER_BUSY, INTERRUPTED, HOME_*. */
export const checkDataJob = async (
  config: Config,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<CheckedData> => {
  const { dataDir, memory, checks } = config;
  if (checks === null) throw new DuckmirrorError("CHECKS_MISSING");
  if (await followHome(config, clock)) throw new DuckmirrorError("SNAPSHOT_MISSING", { file: snapshotPath(dataDir) });
  return withWarehouse({ dataDir, clock, memory }, async ({ database }) => {
    const results = await runChecks(database, checks, { runId: null, now: clock.now(), stop: signal });
    return { results, error: checkProblem(results) };
  });
};

const writeUnlessThere = (path: string, text: string): readonly string[] => {
  try {
    writeNewSync(path, text, { mode: 0o644 });
    return [path];
  } catch (error) {
    if (hasSystemCode(error, "EEXIST")) return [];
    throw error;
  }
};

/** Writes the starter checks, and leaves files that exist. Returns the paths written. Throws USAGE. */
export const writeStarterChecks = (folder: string): readonly string[] => {
  try {
    makeFolders(folder);
    return starterChecks().flatMap(({ name, text }) => writeUnlessThere(join(folder, name), text));
  } catch (cause) {
    throw new DuckmirrorError("USAGE", { detail: `${folder} cannot be written: ${detailOf(cause)}` }, { cause });
  }
};
