// Backups in object storage: a restored mirror is the one that was backed up, and whatever goes wrong, the earlier backup is whole.
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { backupJob, restoreJob } from "../../jobs/backup.ts";
import { systemClock } from "../../src/core/clock.ts";
import { mirrorHome } from "../../src/deliver/home/mirror-home.ts";
import { openWarehouse } from "../../src/warehouse/file/warehouse.ts";
import { signalsOf } from "../src/deliver/moving-mirror.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { change } from "../support/change-mirror.ts";
import { configOf as configFrom } from "../support/given-config.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import type { NextStep } from "./counting-server.ts";
import { AZURE_ENV, BUCKETS, CONTAINERS, eachTestIn } from "./places.ts";

const configOf = (dataDir: string) => configFrom(null, { DUCKMIRROR_DATA_DIR: dataDir, ...AZURE_ENV });
const context = (signal = new AbortController().signal) => ({ clock: systemClock, signal });

const aMirror = async (): Promise<string> => {
  const dataDir = tempDir();
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2026-05", [1, 2, 3], "first")));
  return dataDir;
};
const onItsWay = (dataDir: string) => readdirSync(join(dataDir, "state")).filter((name) => name.startsWith("backup-"));

describe.each([BUCKETS, CONTAINERS])("$kind", (kind) => {
  const { server, place } = eachTestIn(kind);
  const url = () => `${place().address}/set`;
  const backUp = (dataDir: string, force = false, signal?: AbortSignal) => {
    const request = { target: url(), force, version: "1.0.0", bucket: place().storage };
    return backupJob(configOf(dataDir), request, context(signal));
  };
  const restore = (dataDir: string, proven: { readonly keyFile?: string } = {}) => {
    const request = { source: url(), bucket: place().storage, trust: proven.keyFile === undefined, ...proven };
    return restoreJob(configOf(dataDir), request, context());
  };

  test("a restored mirror is the one that was backed up; nothing of it is left beside", async () => {
    const [dataDir, restored] = [await aMirror(), tempDir()];
    const report = await backUp(dataDir);
    expect(report).toMatchObject({ backup: url(), warehouse: join(dataDir, "warehouse.duckdb") });
    const foreign = join(tempDir(), "foreign.key");
    writeFileSync(foreign, "0a".repeat(32));
    await expect(restore(restored, { keyFile: foreign })).rejects.toMatchObject({ code: "BACKUP_UNPROVEN" });
    await restore(restored, { keyFile: join(dataDir, "state", "backup.key") });
    expect(await dumpMirror(restored)).toEqual(await dumpMirror(dataDir));
    expect([onItsWay(dataDir), onItsWay(restored)]).toEqual([[], []]);
  });

  test("an earlier backup is replaced only with --force, and its files go", async () => {
    const [dataDir, restored] = [await aMirror(), tempDir()];
    await backUp(dataDir);
    await expect(backUp(dataDir)).rejects.toMatchObject({ code: "BACKUP_REFUSED" });
    await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2026-06", [2, 4], "second")));
    await backUp(dataDir, true);
    await restore(restored);
    expect(await dumpMirror(restored)).toEqual(await dumpMirror(dataDir));
    const folders = new Set((await place().keys()).map((key) => key.split("/")[0]));
    expect(folders.size).toBe(2);
  });

  test.each([
    ["its copy", /warehouse\.duckdb$/],
    ["its note", /backup\.json$/],
  ])("a backup that breaks off at %s leaves the earlier one whole", async (_, key) => {
    const [dataDir, restored] = [await aMirror(), tempDir()];
    await backUp(dataDir);
    const before = await dumpMirror(dataDir);
    await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2026-06", [2, 4], "second")));
    const ended = new AbortController();
    server().rule = (one) => {
      if (one.method !== "PUT" || !key.test(one.key)) return "pass";
      ended.abort(new Error("killed"));
      return "reset";
    };
    await expect(backUp(dataDir, true, ended.signal)).rejects.toThrow("killed");
    server().rule = null;
    await restore(restored);
    expect(await dumpMirror(restored)).toEqual(before);
  });

  test("two backups to one place at once: one is refused, the other is whole", async () => {
    const [one, other, restored] = [await aMirror(), await aMirror(), tempDir()];
    await change(other, (warehouse) => warehouse.commit(signalsOf("2026-07", [9], "other")));
    const first = new Map<string, Promise<unknown>>();
    server().rule = async (seen): Promise<NextStep> => {
      // The second backup is written whole while the first is about to write its note.
      if (seen.method !== "PUT" || !seen.key.endsWith("backup.json") || first.size > 0) return "pass";
      const second = backUp(other);
      first.set("second", second);
      await second;
      return "pass";
    };
    await expect(backUp(one)).rejects.toMatchObject({ code: "BACKUP_PLACE_FAILED" });
    await first.get("second");
    await restore(restored);
    expect(await dumpMirror(restored)).toEqual(await dumpMirror(other));
  });

  test("the answer to the note is lost: the repeated write is refused by its own condition, and the backup is whole", async () => {
    const [dataDir, restored] = [await aMirror(), tempDir()];
    let lost = 0;
    server().rule = ({ method, key }) =>
      method === "PUT" && key.endsWith("backup.json") && lost++ === 0 ? "lost" : "pass";
    await backUp(dataDir);
    expect(lost).toBeGreaterThan(1);
    server().rule = null;
    await restore(restored);
    expect(await dumpMirror(restored)).toEqual(await dumpMirror(dataDir));
  });

  test("a download whose connection breaks begins again", async () => {
    const [dataDir, restored] = [await aMirror(), tempDir()];
    await backUp(dataDir);
    let broken = 0;
    server().rule = ({ method, key }) =>
      method === "GET" && key.endsWith("warehouse.duckdb") && broken++ === 0 ? "lost" : "pass";
    await restore(restored);
    expect(broken).toBeGreaterThan(1);
    expect(await dumpMirror(restored)).toEqual(await dumpMirror(dataDir));
  });

  test("nothing there, no such place: a clear error, and the directory stays empty", async () => {
    const dataDir = tempDir();
    await expect(restore(dataDir)).rejects.toMatchObject({ code: "BACKUP_MISSING" });
    const source = `${place().address.split("-")[0]}-none/set`;
    const nowhere = { source, bucket: place().storage };
    await expect(restoreJob(configOf(dataDir), nowhere, context())).rejects.toMatchObject({
      code: "BACKUP_PLACE_FAILED",
      message: expect.stringContaining(source),
    });
    expect(existsSync(join(dataDir, "warehouse.duckdb"))).toBe(false);
  });
});

describe("a container as a home", () => {
  const { place } = eachTestIn(CONTAINERS);

  test("a mirror whose home is a container moves, and the worker that lost it publishes nothing", async () => {
    const address = `${place().address}/set/crm?endpoint=${encodeURIComponent(place().storage.endpoint)}`;
    const worker = (dataDir: string) => {
      const home = mirrorHome({ url: address, dataDir, azure: configOf(dataDir).azure, clock: systemClock });
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
});
