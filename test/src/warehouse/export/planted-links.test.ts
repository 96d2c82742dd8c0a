// Links that somebody planted in an export's folder: nothing is written, read or removed through them.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isCode } from "../../../../src/core/errors.ts";
import { anExport, someSignals } from "../export-set.ts";
import { tempDir } from "../temp-dir.ts";

const TWO_MONTHS = someSignals({ 1: "2025-01-31", 2: "2025-02-01" });
const failsWith = (code: Parameters<typeof isCode>[1]) => (error: unknown) => isCode(error, code);

test.each([
  ["the staging folder", ".staging"],
  ["a table's folder", "accounts"],
  ["a month's folder", "signals/year_month=2025-01"],
])("a link planted in place of %s leads nothing out of the export", async (_, place) => {
  const set = await anExport(TWO_MONTHS);
  await set.run();
  const elsewhere = tempDir();
  writeFileSync(join(elsewhere, "accounts.parquet"), "theirs");
  writeFileSync(join(elsewhere, "plan.json"), "{}");
  rmSync(join(set.dir, place), { recursive: true, force: true });
  symlinkSync(elsewhere, join(set.dir, place));
  await expect(set.run()).rejects.toSatisfy(failsWith("EXPORT_FOLDER"));
  expect(readdirSync(elsewhere).sort()).toEqual(["accounts.parquet", "plan.json"]);
  expect(readFileSync(join(elsewhere, "accounts.parquet"), "utf8")).toBe("theirs");
});

test("a link or pipe planted in place of the manifest is refused, so that no stranger's list of files counts", async () => {
  const set = await anExport(TWO_MONTHS);
  await set.run();
  const manifest = join(set.dir, "_manifest.json");
  const theirs = join(tempDir(), "theirs");
  renameSync(manifest, theirs);
  symlinkSync(theirs, manifest);
  await expect(set.run()).rejects.toSatisfy(failsWith("DATA_DIR_UNWRITABLE"));
  rmSync(manifest);
  execFileSync("mkfifo", [manifest]);
  await expect(set.run()).rejects.toSatisfy(failsWith("DATA_DIR_UNWRITABLE"));
});

test.each(["_manifest.json.new", "accounts/accounts.parquet"])(
  "a link planted in place of the file %s is replaced, not followed",
  async (file) => {
    const set = await anExport(TWO_MONTHS);
    await set.run();
    const theirs = join(tempDir(), "theirs");
    writeFileSync(theirs, "theirs");
    rmSync(join(set.dir, file), { force: true });
    symlinkSync(theirs, join(set.dir, file));
    await set.run({ tables: file.endsWith(".new") ? ["history"] : [] });
    expect(readFileSync(theirs, "utf8")).toBe("theirs");
  },
);
