// Export folders that a user named: `forget` finds each of them, whatever happened to the file that names them.
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exportFolders, rememberExport } from "../../../../src/warehouse/export/manifest.ts";
import { tempDir } from "../temp-dir.ts";

const fileOf = (dataDir: string) => join(dataDir, "state", "exports.ndjson");
const remembered = async (dataDir: string) =>
  (await exportFolders(dataDir)).filter((dir) => !dir.startsWith(`${dataDir}/`));

test("folders of the data directory are always among them; others once they were written to", async () => {
  const dataDir = tempDir();
  expect(await exportFolders(dataDir)).toEqual(
    ["export", "export-csv", "export-ndjson"].map((name) => join(dataDir, name)),
  );
  await rememberExport(dataDir, "/elsewhere");
  await rememberExport(dataDir, "/elsewhere");
  await rememberExport(dataDir, join(dataDir, "export"));
  await rememberExport(dataDir, `${dataDir}-beside`);
  expect(readFileSync(fileOf(dataDir), "utf8").split("\n")).toHaveLength(3);
  expect((await exportFolders(dataDir)).slice(3)).toEqual(["/elsewhere", `${dataDir}-beside`]);
});

test("a named folder inside the data directory is remembered like one outside", async () => {
  const dataDir = tempDir();
  await rememberExport(dataDir, join(dataDir, "sheets"));
  expect((await exportFolders(dataDir)).slice(3)).toEqual([join(dataDir, "sheets")]);
});

test("a line that a crash cut off hides neither the ones before it nor the one that follows it", async () => {
  const dataDir = tempDir();
  await rememberExport(dataDir, "/first");
  appendFileSync(fileOf(dataDir), '{"dir":"/cut');
  await rememberExport(dataDir, "/second");
  expect(await remembered(dataDir)).toEqual(["/first", "/second"]);
});

test("a folder may have any name", async () => {
  const dataDir = tempDir();
  const odd = '/a "b" {"dir":} \n c';
  await rememberExport(dataDir, odd);
  expect(await remembered(dataDir)).toEqual([odd]);
});

test("lines of another program are passed over", async () => {
  const dataDir = tempDir();
  mkdirSync(join(dataDir, "state"));
  writeFileSync(fileOf(dataDir), '{}\nnull\n{"dir":7}\n{"dir":"/x"}\n');
  expect(await remembered(dataDir)).toEqual(["/x"]);
});
