// An interrupted replay leaves the mirror as it was.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { replayJob } from "../../jobs/replay.ts";
import { vocabulary } from "../../src/catalog/vocabulary.ts";
import { systemClock } from "../../src/core/clock.ts";
import { resolveConfig } from "../../src/core/config/config.ts";
import { DuckmirrorError } from "../../src/core/errors.ts";
import { warehousePaths } from "../../src/warehouse/file/working-file.ts";
import { anOrganization } from "../support/fake-data.ts";
import { createFakeService } from "../support/fake-service.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import { startSyncRig } from "../support/sync-rig.ts";

test("an interruption ends it before the next change; files stay as they were, and the next replay goes well", async () => {
  const rig = await startSyncRig(createFakeService(anOrganization(3)));
  onTestFinished(() => rig.close());
  await rig.sync();
  const { working, snapshot, state } = warehousePaths(rig.dataDir);
  const filesNow = () => [working, snapshot].map((file) => readFileSync(file).toString("base64"));
  const env = { DUCKMIRROR_BASE_URL: "https://api.example.com", DUCKMIRROR_DATA_DIR: rig.dataDir };
  const config = resolveConfig({ flags: {}, env, file: null, cwd: rig.dataDir, vocabulary: vocabulary() });
  const replay = (signal: AbortSignal) =>
    replayJob(config, { partial: false }, { clock: systemClock, emit: () => undefined, signal });
  const [before, dump, names] = [filesNow(), await dumpMirror(rig.dataDir), readdirSync(state)];

  const stopped = replay(AbortSignal.abort(new DuckmirrorError("INTERRUPTED")));
  await expect(stopped).rejects.toMatchObject({ code: "REPLAY_INTERRUPTED", exitCode: 130 });
  expect(filesNow()).toEqual(before);
  expect(readdirSync(state)).toEqual(names);

  const report = await replay(new AbortController().signal);
  expect([report.runs, report.warehouse]).toEqual([1, join(rig.dataDir, "warehouse.duckdb")]);
  expect(await dumpMirror(rig.dataDir)).toEqual(dump);
});
