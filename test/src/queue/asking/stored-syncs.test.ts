// Syncs that no queue knows any more, found in the mirror.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { vocabulary } from "../../../../src/catalog/vocabulary.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { resolveConfig } from "../../../../src/core/config/config.ts";
import { findStored } from "../../../../src/queue/asking/stored-syncs.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { copyMigratedMirror } from "../../../support/migrated-mirror.ts";

test("a run that a kill ended is no result: its sync is asked for again; one that a fault ended is", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "duckmirror-stored-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  await copyMigratedMirror(dataDir);
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  const end = async (runId: string, status: "interrupted" | "failed", error: string) => {
    await warehouse.startRun({ runId, mode: "full", startedAt: 1, forecast: {} });
    await warehouse.finishRun(runId, { status, finishedAt: 2, summary: null, error });
  };
  // As recovery notes it.
  await end("killed", "interrupted", "the process ended");
  await end("faulty", "failed", "DISK_FULL");
  await warehouse.publish();
  await warehouse.close();
  const env = { DUCKMIRROR_DATA_DIR: dataDir };
  const config = resolveConfig({ flags: {}, env, file: null, cwd: dataDir, vocabulary: vocabulary() });
  expect(await findStored([config], "killed")).toBeNull();
  expect(await findStored([config], "faulty")).toMatchObject({ state: "failed" });
  expect(await findStored([config], "unknown")).toBeNull();
});
