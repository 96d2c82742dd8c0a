// Replays a mirror, and compares what comes of it with the mirror that was.

import { rmSync } from "node:fs";
import { expect } from "vitest";
import { replayJob } from "../../jobs/replay.ts";
import { systemClock } from "../../src/core/clock.ts";
import { warehousePaths } from "../../src/warehouse/file/working-file.ts";
import { configOf } from "./given-config.ts";
import { dumpMirror } from "./mirror-dump.ts";

type Context = Parameters<typeof replayJob>[2];

/** Replays the archive of a data directory. `env`: more settings; `more`: another clock, a signal. */
export const replayOf = (
  dataDir: string,
  {
    env = {},
    partial = false,
    ...more
  }: Partial<Context> & { readonly env?: Record<string, string>; readonly partial?: boolean } = {},
) => {
  const own = { DUCKMIRROR_BASE_URL: "https://api.example.com", DUCKMIRROR_DATA_DIR: dataDir, ...env };
  return replayJob(configOf(null, own), { partial }, { clock: systemClock, emit: () => undefined, ...more });
};

/** Replays without a working file; expects every table of it and of the snapshot as before. */
export const expectEqualReplay = async (dataDir: string) => {
  const files = [undefined, "warehouse.duckdb"];
  const before = await Promise.all(files.map((file) => dumpMirror(dataDir, file)));
  rmSync(warehousePaths(dataDir).working);
  const report = await replayOf(dataDir);
  for (const [nth, file] of files.entries()) expect(await dumpMirror(dataDir, file)).toEqual(before[nth]);
  return report;
};
