// Replay after kill -9: the archive of a killed run gives what the run had committed and what it had paid for. Shows P27.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { replayJob } from "../../jobs/replay.ts";
import { systemClock } from "../../src/core/clock.ts";
import { aFolder } from "../support/cli.ts";
import { anOrganization } from "../support/fake-data.ts";
import { startFakeServer } from "../support/fake-server.ts";
import { createFakeService } from "../support/fake-service.ts";
import { configOf } from "../support/given-config.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import { type SyncRig, startSyncRig } from "../support/sync-rig.ts";

let rig: SyncRig | null = null;
afterEach(async () => {
  await rig?.close();
  rig = null;
});

const working = (dataDir: string) => join(dataDir, "state", "working.duckdb");

const replayOf = (dataDir: string) => {
  const env = { DUCKMIRROR_DATA_DIR: dataDir };
  const config = configOf(null, env);
  return replayJob(config, { partial: false }, { clock: systemClock, emit: () => undefined });
};

test.each([2, 17])(
  "a run killed at request %i is replayed as far as it came, and no request is paid for twice",
  async (killAt) => {
    const service = createFakeService(anOrganization(6), { maxPerPage: 8 });
    const server = await startFakeServer(service);
    const dataDir = join(aFolder(), "data");
    const script = fileURLToPath(new URL("../support/sync-child.ts", import.meta.url));
    const child = spawn(process.execPath, ["--import", "tsx", script, server.url, dataDir], { stdio: "ignore" });
    const ended = once(child, "exit");
    service.options = {
      maxPerPage: 8,
      before: ({ number }) => {
        if (number === killAt) child.kill("SIGKILL");
        return undefined;
      },
    };
    await ended;
    await server.close();
    rig = await startSyncRig(service);
    const mirror = rig;
    const replayed = join(aFolder(), "data");
    cpSync(dataDir, replayed, { recursive: true });
    rmSync(working(replayed), { force: true });
    await replayOf(replayed);
    // The service's own log grows with every request, so reading it costs more the later it is read.
    const spentOn = async (dir: string) => {
      const start = service.log.length;
      expect((await mirror.sync({}, { DUCKMIRROR_DATA_DIR: dir })).error).toBeNull();
      return service.log.slice(start).filter(({ path, status }) => status === 200 && !path.startsWith("/v1/usage"))
        .length;
    };
    expect(await spentOn(replayed)).toBe(await spentOn(dataDir));
    const [one, other] = [await dumpMirror(replayed), await dumpMirror(dataDir)];
    for (const table of ["accounts", "contacts", "signals", "job_openings", "account_insights"]) {
      expect(one[`main.${table}`]?.length).toBe(other[`main.${table}`]?.length);
      expect(one[`history.${table}`]).toEqual([]);
    }
    // And a replay of the mended mirror is the mended mirror.
    await replayOf(replayed);
    expect(await dumpMirror(replayed)).toEqual(one);
  },
);
