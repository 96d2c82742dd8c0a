// Backups, and a mirror's home, in a container of azurite, Microsoft's emulator of Azure Storage: what backup.test.ts and
// home-kills.test.ts say of buckets holds there.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { backupJob, restoreJob } from "../../jobs/backup.ts";
import { systemClock } from "../../src/core/clock.ts";
import { mirrorHome } from "../../src/deliver/home/mirror-home.ts";
import { openWarehouse } from "../../src/warehouse/file/warehouse.ts";
import { signalsOf } from "../src/deliver/moving-mirror.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { change } from "../support/change-mirror.ts";
import { configOf } from "../support/given-config.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import { AZURE_ENV, aContainer, blobsOf, type TestContainer } from "./a-container.ts";
import { type AzureServer, startAzure } from "./azure-server.ts";

let azure: AzureServer;
let container: TestContainer;
let made = 0;
beforeAll(async () => {
  azure = await startAzure(inject("azurite"));
});
afterAll(() => azure?.stop());
beforeEach(async () => {
  azure.rule = null;
  made += 1;
  container = await aContainer(azure, `backups-${made}`);
});

const config = (dataDir: string) => configOf(null, { DUCKMIRROR_DATA_DIR: dataDir, ...AZURE_ENV });
const url = () => `az://${container.name}/set`;
const bucket = () => ({ endpoint: blobsOf(azure) });
const context = () => ({ clock: systemClock, signal: new AbortController().signal });
const backUp = (dataDir: string, force = false) =>
  backupJob(config(dataDir), { target: url(), force, version: "1.0.0", bucket: bucket() }, context());
const restore = (dataDir: string) =>
  restoreJob(config(dataDir), { source: url(), bucket: bucket(), trust: true }, context());

const aMirror = async (): Promise<string> => {
  const dataDir = tempDir();
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2026-05", [1, 2, 3], "first")));
  return dataDir;
};

test("a mirror restored from a container is the one that was backed up; an earlier backup goes only with --force", async () => {
  const [dataDir, first, second] = [await aMirror(), tempDir(), tempDir()];
  expect(await backUp(dataDir)).toMatchObject({ backup: url() });
  await restore(first);
  expect(await dumpMirror(first)).toEqual(await dumpMirror(dataDir));
  await expect(backUp(dataDir)).rejects.toMatchObject({ code: "BACKUP_REFUSED" });
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2026-06", [2, 4], "second")));
  await backUp(dataDir, true);
  await restore(second);
  expect(await dumpMirror(second)).toEqual(await dumpMirror(dataDir));
  expect(new Set((await container.keys()).map((key) => key.split("/")[0])).size).toBe(2);
});

test("nothing there, no such container: a clear error, and the directory stays empty", async () => {
  const dataDir = tempDir();
  await expect(restore(dataDir)).rejects.toMatchObject({ code: "BACKUP_MISSING" });
  const nowhere = { source: "az://no-such-container/set", bucket: bucket() };
  await expect(restoreJob(config(dataDir), nowhere, context())).rejects.toMatchObject({
    code: "BACKUP_PLACE_FAILED",
    message: expect.stringContaining("container does not exist"),
  });
  expect(existsSync(join(dataDir, "warehouse.duckdb"))).toBe(false);
});

test("a mirror whose home is a container moves, and the worker that lost it publishes nothing", async () => {
  const address = `az://${container.name}/set/crm?endpoint=${encodeURIComponent(blobsOf(azure))}`;
  const worker = (dataDir: string) => {
    const home = mirrorHome({ url: address, dataDir, azure: config(dataDir).azure, clock: systemClock });
    return openWarehouse({ dataDir, clock: systemClock, home });
  };
  const dirs = [tempDir(), tempDir()] as const;
  const add = async (dataDir: string, id: number) => {
    const warehouse = await worker(dataDir);
    await warehouse.commit(signalsOf("2026-05", [id], "moved"));
    await warehouse.publish();
    await warehouse.close();
  };
  await add(dirs[0], 1);
  await add(dirs[1], 2);
  expect((await dumpMirror(dirs[1]))["main.signals"]).toHaveLength(2);
  const late = await worker(dirs[1]);
  await add(dirs[0], 3);
  await expect(late.publish()).rejects.toMatchObject({ code: "HOME_TAKEN" });
  await expect(late.close()).rejects.toMatchObject({ code: "HOME_TAKEN" });
  expect((await dumpMirror(dirs[0]))["main.signals"]).toHaveLength(3);
});
