// Backups: what is in one, what is refused, and how a damaged one is found out.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  isBackupFile,
  readBackup,
  restoreSmallFiles,
  writeBackup,
} from "../../../../../src/warehouse/file/baseline/backup.ts";
import { warehousePaths } from "../../../../../src/warehouse/file/working-file.ts";
import { aFolder } from "../../../../support/cli.ts";
import { copyMigratedMirror } from "../../../../support/migrated-mirror.ts";

const NOW = Date.UTC(2026, 10, 21);
const KEY = "0a".repeat(32);
/** As if the mirror's own key lay there. */
const PROOF = { file: "backup.key", key: KEY };

/** A mirror with two small files, and where its backup goes. */
const rig = async () => {
  const dataDir = join(aFolder(), "data");
  await copyMigratedMirror(dataDir);
  const { working: snapshot, state } = warehousePaths(dataDir);
  mkdirSync(join(state, "archive"));
  writeFileSync(join(state, "keys.json"), '{"keys":[]}');
  writeFileSync(join(state, "archive", "forgotten.json"), "[]");
  writeFileSync(join(state, "something.else"), "x");
  const target = join(aFolder(), "backup");
  const write = (force = false) =>
    writeBackup({ snapshot, state, target, force, version: "1.2.3", keyOf: async () => KEY, now: NOW });
  return { snapshot, state, target, write };
};

describe("a backup", () => {
  test("holds the snapshot and the small files that no sync gets back, and reads as it was written", async () => {
    const { snapshot, target, write } = await rig();
    const written = await write();
    expect(Object.keys(written.files).sort()).toEqual([
      "state/archive/forgotten.json",
      "state/keys.json",
      "warehouse.duckdb",
    ]);
    expect(readFileSync(join(target, "warehouse.duckdb")).equals(readFileSync(snapshot))).toBe(true);
    expect(await readBackup(target, PROOF)).toEqual(written);
    expect(written).toMatchObject({ made_at: NOW, version: "1.2.3" });
  });

  test("takes the place of what a killed one left", async () => {
    const { target, write } = await rig();
    mkdirSync(`${target}.new`);
    writeFileSync(join(`${target}.new`, "warehouse.duckdb"), "half");
    await write();
    expect(existsSync(`${target}.new`)).toBe(false);
    expect((await readBackup(target, PROOF)).folder).toBe(target);
  });

  test("keeps a whole one that was killed before its last step until the next one is whole", async () => {
    const { snapshot, state, target, write } = await rig();
    const earlier = await write();
    renameSync(target, `${target}.new`);
    const mirror = readFileSync(snapshot);
    writeFileSync(snapshot, mirror.subarray(0, 5_000));
    await expect(write(true)).rejects.toThrow();
    expect(await readBackup(target, PROOF)).toEqual(earlier);
    renameSync(target, `${target}.new`);
    writeFileSync(snapshot, mirror);
    writeFileSync(join(state, "keys.json"), '{"keys":[1]}');
    await write();
    expect(existsSync(`${target}.new`)).toBe(false);
    await readBackup(target, PROOF);
    expect(readFileSync(join(target, "state", "keys.json"), "utf8")).toBe('{"keys":[1]}');
  });

  test("of a snapshot that is missing or damaged is refused, and leaves nothing", async () => {
    const { snapshot, target, write } = await rig();
    writeFileSync(snapshot, readFileSync(snapshot).subarray(0, 5_000));
    await expect(write()).rejects.toThrow();
    expect([existsSync(target), existsSync(`${target}.new`)]).toEqual([false, false]);
  });
});

test("a backup whose note is of another version, or is missing, is refused by its name", async () => {
  const { target, write } = await rig();
  await write();
  writeFileSync(join(target, "backup.json"), '{"v":2}');
  const damaged = { code: "BACKUP_DAMAGED", context: { file: expect.stringContaining("backup.json") } };
  await expect(readBackup(target, PROOF)).rejects.toMatchObject(damaged);
  await expect(readBackup(aFolder(), PROOF)).rejects.toMatchObject({ code: "BACKUP_MISSING" });
});

test("the small files of a backup come back, and replace what a killed restore left", async () => {
  const { target, write } = await rig();
  const backup = await write();
  const state = join(aFolder(), "state");
  mkdirSync(state);
  writeFileSync(join(state, "keys.json"), "half");
  await restoreSmallFiles(backup, state, true);
  expect(readFileSync(join(state, "keys.json"), "utf8")).toBe('{"keys":[]}');
  expect(readFileSync(join(state, "archive", "forgotten.json"), "utf8")).toBe("[]");
  expect(readdirSync(state).sort()).toEqual(["archive", "keys.json"]);
  expect(readdirSync(target).sort()).toEqual(["backup.json", "state", "warehouse.duckdb"]);
});

test.each([
  ["outside its folder", "../theirs"],
  ["that never ends", "../../../../../../../../dev/zero"],
])("a note that names a file %s is refused, and the file is not read", async (_, name) => {
  const { target, write } = await rig();
  await write();
  const note = JSON.parse(readFileSync(join(target, "backup.json"), "utf8"));
  note.files[name] = { bytes: 1, sha256: "0".repeat(64) };
  writeFileSync(join(target, "backup.json"), JSON.stringify(note));
  await expect(readBackup(target, PROOF)).rejects.toMatchObject({ code: "BACKUP_UNPROVEN" });
  const message = expect.stringContaining("it names a file that no backup has");
  await expect(readBackup(target, "trusted")).rejects.toMatchObject({ code: "BACKUP_DAMAGED", message });
});

test.each(["backup.json", "warehouse.duckdb", join("state", "keys.json")])(
  "a link in place of %s of a backup is refused: it leads to a file that is not in it",
  async (name) => {
    const { target, write } = await rig();
    await write();
    rmSync(join(target, name));
    symlinkSync("/dev/zero", join(target, name));
    await expect(readBackup(target, PROOF)).rejects.toThrow(/link|remove it|bytes/);
  },
);

test("a note from elsewhere can name no other files", () => {
  expect(["warehouse.duckdb", "state/keys.json", "state/archive/forgotten.json"].every(isBackupFile)).toBe(true);
  const others = [
    "state/../keys.json",
    "../warehouse.duckdb",
    "/etc/passwd",
    "state/working.duckdb",
    "backup.json",
    "",
  ];
  expect(others.filter(isBackupFile)).toEqual([]);
});
