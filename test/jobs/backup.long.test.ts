// The drill: a backup becomes a mirror in another folder, goes on at the cost of looks, and replays from its baseline. Shows P32 and P34.

import { createHash } from "node:crypto";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { backupJob, restoreJob } from "../../jobs/backup.ts";
import { followJob } from "../../jobs/following.ts";
import { systemClock } from "../../src/core/clock.ts";
import { keyedForgotten, readForgotten, writeForgotten } from "../../src/warehouse/archive/forgotten-list.ts";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { bring, emptyCopy, wholeIn } from "../src/deliver/copies.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { expectEqualReplay, replayOf } from "../support/equal-replay.ts";
import { anOrganization } from "../support/fake-data.ts";
import { createFakeService } from "../support/fake-service.ts";
import { configOf as givenConfig } from "../support/given-config.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import { useMirrored } from "../support/mirrored-rig.ts";

const configOf = (dataDir: string) =>
  givenConfig(null, { DUCKMIRROR_BASE_URL: "https://api.example.com", DUCKMIRROR_DATA_DIR: dataDir });
const clock = { clock: systemClock, signal: new AbortController().signal };
const STREAMS = ["accounts", "contacts", "signals"];

const aMirror = useMirrored((log) => createFakeService(anOrganization(4), {}, log), {
  env: { DUCKMIRROR_STREAMS: STREAMS.join(",") },
});

const start = async (at: { readonly target?: string } = {}) => {
  const { rig } = await aMirror();
  const places = tempDir();
  const target = at.target ?? join(places, "backup");
  const write = (force = false) => backupJob(configOf(rig.dataDir), { target, force, version: "1.0.0" }, clock);
  const restored = join(places, "restored");
  const keyFile = join(rig.dataDir, "state", "backup.key");
  const restore = (proof: { readonly keyFile?: string; readonly trust?: boolean } = { keyFile }) =>
    restoreJob(configOf(restored), { source: target, ...proof }, clock);
  return { rig, target, write, keyFile, restored, restore };
};

test("a restored mirror equals the one that was backed up, and replays without an archive", async () => {
  const { rig, write, restored, restore } = await start();
  const before = await dumpMirror(rig.dataDir);
  await write();
  const report = await restore();
  expect(report.warehouse).toBe(join(restored, "warehouse.duckdb"));
  expect(await dumpMirror(restored)).toEqual(before);
  await expectEqualReplay(restored);
});

test("a destination goes on with the restored mirror, also after a replay", async () => {
  const { rig, write, restored, restore } = await start();
  const copy = emptyCopy();
  await bring(rig.dataDir, copy);
  const { position } = copy;
  await write();
  await restore();
  await bring(restored, copy);
  expect([copy.position, wholeIn(copy)]).toEqual([position, []]);
  rmSync(join(restored, "state", "working.duckdb"));
  const held = structuredClone(copy.tables);
  await replayOf(restored);
  await bring(restored, copy);
  // Field rules may have changed the values: every table is compared, and nothing is another here.
  expect([copy.position?.n, wholeIn(copy)]).toEqual([position?.n, copy.offered.map(({ name }) => name)]);
  expect(copy.tables).toEqual(held);
});

test("the next sync of a restored mirror looks, and pays for nothing again", async () => {
  const { rig, write, restored, restore } = await start();
  await write();
  await restore();
  const { code, report, sent } = await rig.sync({ streams: STREAMS }, { DUCKMIRROR_DATA_DIR: restored });
  expect(code).toBe(null);
  expect(report.streams.every(({ inserted, updated, deleted }) => inserted + updated + deleted === 0)).toBe(true);
  expect(sent.length).toBeLessThanOrEqual(3);
});

test("followed companies and erased contacts come along; files are their owner's only", async () => {
  const { rig, write, target, restored, restore } = await start();
  await followJob(configOf(rig.dataDir), ["example.com"], systemClock);
  const archiveDir = join(rig.dataDir, "state", "archive");
  const list = await keyedForgotten(archiveDir);
  await writeForgotten(archiveDir, [{ hash: list.hashOf("p_1"), forgotten_at: "2026-11-23T00:00:00Z", done: true }]);
  await write();
  await restore();
  expect((await readForgotten(join(restored, "state", "archive"))).find("p_1")).not.toBe(null);
  expect(existsSync(join(restored, "state", "following.json"))).toBe(true);
  for (const name of readdirSync(target, { recursive: true })) {
    expect(statSync(join(target, String(name))).mode & 0o077).toBe(0);
  }
});

describe("only a genuine backup becomes a mirror", () => {
  const unproven = { code: "BACKUP_UNPROVEN" };
  const rewriteNote = (target: string, change: (note: { files: Record<string, unknown>; hmac?: string }) => void) => {
    const file = join(target, "backup.json");
    const note = JSON.parse(readFileSync(file, "utf8"));
    change(note);
    writeFileSync(file, JSON.stringify(note));
  };
  /** As somebody does it who may write to the place of the backup: digest and size fit. */
  const forge = (target: string) => {
    const content = Buffer.from('{"companies":[]}');
    writeFileSync(join(target, "state", "tier.json"), content);
    const sha256 = createHash("sha256").update(content).digest("hex");
    rewriteNote(target, ({ files }) => {
      files["state/tier.json"] = { bytes: content.length, sha256 };
    });
  };

  test("its key is the owner's only, is made once, is in no backup, and comes along", async () => {
    const { write, keyFile, target, restored, restore } = await start();
    expect((await write()).key_file).toBe(keyFile);
    const key = readFileSync(keyFile, "utf8");
    expect([key, statSync(keyFile).mode & 0o777]).toEqual([expect.stringMatching(/^[0-9a-f]{64}\n$/), 0o600]);
    await write(true);
    expect(readFileSync(keyFile, "utf8")).toBe(key);
    for (const name of readdirSync(target, { recursive: true, withFileTypes: true })) {
      if (name.isFile()) expect(readFileSync(join(name.parentPath, name.name)).includes(key.trim())).toBe(false);
    }
    expect((await restore()).key_file).toBe(keyFile);
    expect(readFileSync(join(restored, "state", "backup.key"), "utf8")).toBe(key);
  });

  test("a key that lies in the new directory already proves it, too", async () => {
    const { write, keyFile, restored, restore } = await start();
    await write();
    mkdirSync(join(restored, "state"), { recursive: true, mode: 0o700 });
    copyFileSync(keyFile, join(restored, "state", "backup.key"));
    expect((await restore({})).key_file).toBe(join(restored, "state", "backup.key"));
  });

  test("a forged note, a foreign key, no key and a backup of an earlier version are refused, and nothing is made", async () => {
    const { write, keyFile, target, restored, restore } = await start();
    await write();
    await expect(restore({})).rejects.toMatchObject({ ...unproven, message: expect.stringContaining("is not here") });
    const foreign = join(tempDir(), "foreign.key");
    writeFileSync(foreign, "0a".repeat(32));
    await expect(restore({ keyFile: foreign })).rejects.toMatchObject(unproven);
    writeFileSync(foreign, "no key");
    await expect(restore({ keyFile: foreign })).rejects.toMatchObject({ code: "USAGE" });
    await expect(restore({ keyFile: `${foreign}.none` })).rejects.toMatchObject({ code: "USAGE" });
    forge(target);
    await expect(restore()).rejects.toMatchObject({ ...unproven, message: expect.stringContaining("was changed") });
    rewriteNote(target, (note) => delete note.hmac);
    await expect(restore()).rejects.toMatchObject({ ...unproven, message: expect.stringContaining("no signature") });
    expect([existsSync(restored), existsSync(keyFile)]).toEqual([false, true]);
  });

  test("--trust restores an earlier version's; a changed file and a planted view are refused all the same", async () => {
    const { rig, write, target, restored, restore } = await start();
    await write();
    rewriteNote(target, (note) => delete note.hmac);
    appendFileSync(join(target, "warehouse.duckdb"), "x");
    await expect(restore({ trust: true })).rejects.toMatchObject({ code: "BACKUP_DAMAGED" });
    await write(true);
    const database = await openDatabase(join(target, "warehouse.duckdb"));
    await database.run("CREATE VIEW main.planted AS SELECT 1");
    await database.close();
    const content = readFileSync(join(target, "warehouse.duckdb"));
    rewriteNote(target, ({ files }) => {
      const sha256 = createHash("sha256").update(content).digest("hex");
      files["warehouse.duckdb"] = { bytes: content.length, sha256 };
    });
    await expect(restore({ trust: true })).rejects.toMatchObject({ code: "CATALOG_REFUSED" });
    await write(true);
    rewriteNote(target, (note) => delete note.hmac);
    expect((await restore({ trust: true })).key_file).toBe(null);
    expect(await dumpMirror(restored)).toEqual(await dumpMirror(rig.dataDir));
    expect(existsSync(join(restored, "state", "backup.key"))).toBe(false);
  });
});

describe("refused", () => {
  test("a target that is in use; with --force only an earlier backup is replaced", async () => {
    const { write, target } = await start();
    mkdirSync(target);
    writeFileSync(join(target, "photo.jpg"), "mine");
    await expect(write(true)).rejects.toMatchObject({ code: "BACKUP_REFUSED" });
    expect(readdirSync(target)).toEqual(["photo.jpg"]);
    rmSync(join(target, "photo.jpg"));
    await write();
    await expect(write()).rejects.toMatchObject({ code: "BACKUP_REFUSED" });
    await write(true);
    expect(existsSync(`${target}.new`)).toBe(false);
    // Files that somebody put beside an earlier backup are not its own.
    writeFileSync(join(target, "photo.jpg"), "mine");
    await expect(write(true)).rejects.toMatchObject({ code: "BACKUP_REFUSED" });
    expect(existsSync(join(target, "photo.jpg"))).toBe(true);
  });

  test("a place where the system has no folders", async () => {
    const { write } = await start({ target: "/proc/none/backup" });
    await expect(write()).rejects.toMatchObject({ code: "BACKUP_PLACE_FAILED" });
  });

  test("a target that is a file, or beside which somebody keeps a folder of that name, and both stay", async () => {
    const { write, target } = await start();
    writeFileSync(target, "mine");
    await expect(write(true)).rejects.toMatchObject({ code: "BACKUP_PLACE_FAILED" });
    expect(statSync(target).isFile()).toBe(true);
    rmSync(target);
    mkdirSync(`${target}.new`);
    writeFileSync(join(`${target}.new`, "photo.jpg"), "mine");
    await expect(write(true)).rejects.toMatchObject({ code: "BACKUP_REFUSED" });
    expect(readdirSync(`${target}.new`)).toEqual(["photo.jpg"]);
  });

  test("a backup that was changed by a byte, or lacks a file", async () => {
    const { write, target, restored, restore } = await start();
    await write();
    appendFileSync(join(target, "warehouse.duckdb"), "x");
    await expect(restore()).rejects.toMatchObject({ code: "BACKUP_DAMAGED" });
    rmSync(join(target, "warehouse.duckdb"));
    await expect(restore()).rejects.toMatchObject({ code: "BACKUP_DAMAGED" });
    rmSync(join(target, "backup.json"));
    await expect(restore()).rejects.toMatchObject({ code: "BACKUP_MISSING" });
    expect(existsSync(join(restored, "warehouse.duckdb"))).toBe(false);
  });

  test("a directory that holds a mirror", async () => {
    const { rig, write, target } = await start();
    await write();
    const before = await dumpMirror(rig.dataDir);
    await expect(restoreJob(configOf(rig.dataDir), { source: target }, clock)).rejects.toMatchObject({
      code: "RESTORE_REFUSED",
    });
    expect(await dumpMirror(rig.dataDir)).toEqual(before);
  });

  test("a backup of nothing", async () => {
    const empty = tempDir();
    await expect(
      backupJob(configOf(empty), { target: join(empty, "b"), force: false, version: "1" }, clock),
    ).rejects.toMatchObject({ code: "SNAPSHOT_MISSING" });
  });
});

test("a restore that was killed before its working file is there can be repeated", async () => {
  const { write, restored, restore } = await start();
  await write();
  mkdirSync(join(restored, "state", "archive"), { recursive: true, mode: 0o700 });
  writeFileSync(join(restored, "state", "tier.json"), "half");
  writeFileSync(join(restored, "state", "working.duckdb.new"), "half");
  await restore();
  expect((await dumpMirror(restored))["main.accounts"]).toHaveLength(4);
});
