// `backup` and `restore` as commands.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { change } from "../../../../support/change-mirror.ts";
import { cli } from "../../../../support/cli.ts";
import { signalsOf, snapshotRows } from "../../../deliver/moving-mirror.ts";
import { tempDir } from "../../../warehouse/temp-dir.ts";

test("a mirror is backed up to the typed folder and restored from it", async () => {
  const [dataDir, restored, cwd] = [tempDir(), tempDir(), tempDir()];
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2026-05", [1, 2], "a")));
  const written = await cli(["backup", "copy", "--data-dir", dataDir], { cwd });
  expect(written).toMatchObject({ code: 0, out: expect.stringContaining(join(cwd, "copy")) });
  expect(written.out).toContain(join(dataDir, "state", "backup.key"));
  const again = await cli(["backup", "copy", "--data-dir", dataDir], { cwd });
  expect(again).toMatchObject({ code: 2, err: expect.stringContaining("BACKUP_REFUSED") });
  const unproven = await cli(["restore", "copy", "--data-dir", restored], { cwd });
  expect(unproven).toMatchObject({ code: 2, err: expect.stringMatching(/BACKUP_UNPROVEN[\s\S]*--backup-key FILE/) });
  copyFileSync(join(dataDir, "state", "backup.key"), join(cwd, "key"));
  const proven = ["restore", "copy", "--backup-key", "key", "--data-dir", restored];
  expect(await cli(proven, { cwd })).toMatchObject({ code: 0 });
  expect(await cli(["restore", "copy", "--trust", "--data-dir", tempDir()], { cwd })).toMatchObject({ code: 0 });
  expect(await snapshotRows(restored, "signals")).toEqual(await snapshotRows(dataDir, "signals"));
});

test("object storage is opened as typed: an account that is not known is an error before anything is sent", async () => {
  const cwd = tempDir();
  const ended = await cli(["restore", "az://lake/set", "--data-dir", join(cwd, "data")], { cwd });
  expect(ended).toMatchObject({ code: 5, err: expect.stringContaining("AZURE_STORAGE_ACCOUNT") });
  const secret = ["restore", "az://lake/set?sig=hush-hush", "--data-dir", join(cwd, "data")];
  const { code, out, err } = await cli(secret, { cwd });
  expect([code, `${out}${err}`.includes("hush")]).toEqual([5, false]);
  expect(err).toContain("AZURE_STORAGE_SAS_TOKEN");
});

test.each(["backup", "restore"])("%s without a folder is a usage error", async (command) => {
  const { code, err } = await cli([command], { cwd: tempDir() });
  expect([code, err]).toEqual([2, expect.stringMatching(/target|source/)]);
});
