// Export folders that a user named: `forget` finds each of them, whatever happened to the file that names them.
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exportFolders, rememberExport } from "../../../../src/warehouse/export/manifest.ts";
import { tempDir } from "../temp-dir.ts";

const fileOf = (dataDir: string) => join(dataDir, "state", "exports.ndjson");
const remembered = async (dataDir: string) =>
  (await exportFolders(dataDir)).filter((dir) => !dir.startsWith(`${dataDir}/`));

test("folders of the data directory are always among them; others, of any name, once they were written to", async () => {
  const dataDir = tempDir();
  expect(await exportFolders(dataDir)).toEqual(
    ["export", "export-csv", "export-ndjson"].map((name) => join(dataDir, name)),
  );
  await rememberExport(dataDir, "/elsewhere");
  await rememberExport(dataDir, "/elsewhere");
  await rememberExport(dataDir, join(dataDir, "export"));
  const others = [`${dataDir}-beside`, join(dataDir, "sheets"), '/a "b" {"dir":} \n c'];
  for (const dir of others) await rememberExport(dataDir, dir);
  expect(readFileSync(fileOf(dataDir), "utf8").split("\n")).toHaveLength(5);
  expect((await exportFolders(dataDir)).slice(3)).toEqual(["/elsewhere", ...others]);
});

test("a line that a crash cut off hides neither the ones before it nor the one that follows it", async () => {
  const dataDir = tempDir();
  await rememberExport(dataDir, "/first");
  appendFileSync(fileOf(dataDir), '{"dir":"/cut');
  await rememberExport(dataDir, "/second");
  expect(await remembered(dataDir)).toEqual(["/first", "/second"]);
});

test("lines of another program are passed over", async () => {
  const dataDir = tempDir();
  mkdirSync(join(dataDir, "state"));
  writeFileSync(fileOf(dataDir), '{}\nnull\n{"dir":7}\n{"dir":"/x"}\n');
  expect(await remembered(dataDir)).toEqual(["/x"]);
});
