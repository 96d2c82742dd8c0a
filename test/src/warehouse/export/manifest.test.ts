// The manifest of an export folder: read if this program wrote it, refused if another one did.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MANIFEST_NAME, readManifest } from "../../../../src/warehouse/export/manifest.ts";
import { tempDir } from "../temp-dir.ts";

const set = { version: 1, format: "parquet", since: null, guardFormulas: false, run: null, tables: [] };

test("a folder without a manifest has none; one of another program is refused", async () => {
  expect(await readManifest(tempDir())).toBeNull();
  for (const text of ["{", "{}", JSON.stringify({ ...set, version: 2, files: [] })]) {
    const dir = tempDir();
    writeFileSync(join(dir, MANIFEST_NAME), text);
    await expect(readManifest(dir)).rejects.toMatchObject({ code: "EXPORT_FOLDER" });
  }
});
