// The manifest of an export folder: read if this program wrote it, refused if another one did.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MANIFEST_NAME, readManifest, tablesOf } from "../../../../src/warehouse/export/manifest.ts";
import { tempDir } from "../temp-dir.ts";

const file = (table: string) => ({
  file: `${table}/${table}.parquet`,
  table,
  partition: null,
  rows: 1,
  bytes: 1,
  sha256: "x",
  run: null,
  fingerprint: "x",
});
const set = { version: 1, format: "parquet", since: null, run: null };
const readText = (text: string) => {
  const dir = tempDir();
  writeFileSync(join(dir, MANIFEST_NAME), text);
  return readManifest(dir);
};

test("a set of an earlier version names no tables, so those of its files count", async () => {
  const manifest = await readText(JSON.stringify({ ...set, files: [file("accounts"), file("accounts")] }));
  expect(manifest).toMatchObject({ tables: [], guardFormulas: false });
  expect(tablesOf(manifest)).toEqual(["accounts"]);
});

test("a table without a file belongs to the set, too", async () => {
  expect(tablesOf(await readText(JSON.stringify({ ...set, tables: ["signals"], files: [file("accounts")] })))).toEqual([
    "signals",
    "accounts",
  ]);
});

test("a folder without a manifest has none; one of another program is refused", async () => {
  expect(await readManifest(tempDir())).toBeNull();
  expect(tablesOf(null)).toEqual([]);
  for (const text of ["{", "{}", JSON.stringify({ ...set, version: 2, files: [] })])
    await expect(readText(text)).rejects.toMatchObject({ code: "EXPORT_FOLDER" });
});
