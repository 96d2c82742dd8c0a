// Replay after kill -9: the archive of a killed run gives what the run had committed and what it had paid for. Shows P27.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { warehousePaths } from "../../src/warehouse/file/working-file.ts";
import { aFolder } from "../support/cli.ts";
import { replayOf } from "../support/equal-replay.ts";
import { anOrganization } from "../support/fake-data.ts";
import { startFakeServer } from "../support/fake-server.ts";
import { createFakeService } from "../support/fake-service.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import { startSyncRig } from "../support/sync-rig.ts";

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
    const mirror = await startSyncRig(service);
    const replayed = join(aFolder(), "data");
    cpSync(dataDir, replayed, { recursive: true });
    rmSync(warehousePaths(replayed).working, { force: true });
    await replayOf(replayed);
    // The service's own log grows with every request, so reading it costs more the later it is read.
    const spentOn = async (dir: string) => {
      const { code, sent } = await mirror.sync({}, { DUCKMIRROR_DATA_DIR: dir });
      expect(code).toBeNull();
      return sent.filter(({ path, status }) => status === 200 && !path.startsWith("/v1/usage")).length;
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
