// Backups in a bucket: a restored mirror is the one that was backed up, and whatever goes wrong, the earlier backup is whole.
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { backupJob, restoreJob } from "../../jobs/backup.ts";
import { vocabulary } from "../../src/catalog/field-rules.ts";
import { systemClock } from "../../src/core/clock.ts";
import { resolveConfig } from "../../src/core/config/config.ts";
import { signalsOf } from "../src/deliver/moving-mirror.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { change } from "../support/change-mirror.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import { keysIn, makeBucket, stubAws } from "./a-bucket.ts";
import type { NextStep } from "./counting-server.ts";
import { type S3Server, startS3 } from "./s3-server.ts";

let s3: S3Server;
let bucket: string;
let made = 0;
beforeAll(async () => {
  s3 = await startS3(inject("destinationsVenv"));
});
afterAll(() => s3?.stop());
beforeEach(async () => {
  stubAws();
  s3.rule = null;
  made += 1;
  bucket = `backups-${made}`;
  await makeBucket(s3.endpoint, bucket);
  s3.forget();
});

const configOf = (dataDir: string) =>
  resolveConfig({
    flags: {},
    env: { DUCKMIRROR_BASE_URL: "https://api.example.com", DUCKMIRROR_DATA_DIR: dataDir },
    file: null,
    cwd: dataDir,
    vocabulary: vocabulary(),
  });
const url = () => `s3://${bucket}/set`;
const storage = () => ({ endpoint: s3.endpoint, pathStyle: true });
const context = (signal = new AbortController().signal) => ({ clock: systemClock, signal });
const backUp = (dataDir: string, force = false, signal?: AbortSignal) =>
  backupJob(configOf(dataDir), { target: url(), force, version: "1.0.0", bucket: storage() }, context(signal));
const restore = (dataDir: string, proven: { readonly keyFile?: string } = {}) =>
  restoreJob(
    configOf(dataDir),
    { source: url(), bucket: storage(), trust: proven.keyFile === undefined, ...proven },
    context(),
  );

const aMirror = async (): Promise<string> => {
  const dataDir = tempDir();
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2026-05", [1, 2, 3], "first")));
  return dataDir;
};
const onItsWay = (dataDir: string) => readdirSync(join(dataDir, "state")).filter((name) => name.startsWith("backup-"));

test("a mirror restored from a bucket is the one that was backed up; nothing of it is left beside", async () => {
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
  const folders = new Set((await keysIn(s3.endpoint, bucket)).map((key) => key.split("/")[0]));
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
  s3.rule = (one) => {
    if (one.method !== "PUT" || !key.test(one.key)) return "pass";
    ended.abort(new Error("killed"));
    return "reset";
  };
  await expect(backUp(dataDir, true, ended.signal)).rejects.toThrow("killed");
  s3.rule = null;
  await restore(restored);
  expect(await dumpMirror(restored)).toEqual(before);
});

test("two backups to one place at once: one is refused, the other is whole", async () => {
  const [one, other, restored] = [await aMirror(), await aMirror(), tempDir()];
  await change(other, (warehouse) => warehouse.commit(signalsOf("2026-07", [9], "other")));
  const first = new Map<string, Promise<unknown>>();
  s3.rule = async (seen): Promise<NextStep> => {
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

test("a download whose connection breaks begins again", async () => {
  const [dataDir, restored] = [await aMirror(), tempDir()];
  await backUp(dataDir);
  let broken = 0;
  s3.rule = ({ method, key }) =>
    method === "GET" && key.endsWith("warehouse.duckdb") && broken++ === 0 ? "lost" : "pass";
  await restore(restored);
  expect(broken).toBeGreaterThan(1);
  expect(await dumpMirror(restored)).toEqual(await dumpMirror(dataDir));
});

test("nothing there, no such bucket, refused credentials: a clear error, and the directory stays empty", async () => {
  const dataDir = tempDir();
  await expect(restore(dataDir)).rejects.toMatchObject({ code: "BACKUP_MISSING" });
  const nowhere = { source: "s3://no-such-bucket/set", bucket: storage() };
  await expect(restoreJob(configOf(dataDir), nowhere, context())).rejects.toMatchObject({
    code: "BACKUP_PLACE_FAILED",
    message: expect.stringContaining("s3://no-such-bucket/set"),
  });
  expect(existsSync(join(dataDir, "warehouse.duckdb"))).toBe(false);
});
