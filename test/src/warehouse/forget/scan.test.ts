// A deleted value that a database file still holds is found; two values side by side that read like one are not.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_MEMORY, memoryPlan } from "../../../../src/core/config/memory-plan.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { scanFor } from "../../../../src/warehouse/forget/scan.ts";

const ERASED = "contact-21";
const PERSON = { id: ERASED, hash: "", traces: [{ kind: "id", text: ERASED }] } as const;
const MEANS = { tempDir: "", memory: memoryPlan(DEFAULT_MEMORY, 2 ** 32) };

/** What a search finds in a database after `statements`, each of them written to the file. */
const leftAfter = async (statements: readonly string[]) => {
  const folder = mkdtempSync(join(tmpdir(), "duckmirror-scan-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "warehouse.duckdb");
  const database = await openDatabase(file);
  for (const statement of statements) {
    await database.run(statement);
    await database.run("CHECKPOINT");
  }
  await database.close();
  const { left, files } = await scanFor([PERSON], [folder], { ...MEANS, tempDir: join(folder, "tmp") });
  return { files, times: left.map(({ table, kind, times }) => [table, kind, times]) };
};

// DuckDB writes the values of a block from its end: the second stands before the first.
const NEIGHBOURS = "CREATE TABLE keys AS SELECT unnest(['1839', 'contact-2']) AS key";
const ERASED_AND_DELETED = [
  `CREATE TABLE contacts AS SELECT '${ERASED}' AS id, 'somebody' AS name UNION ALL SELECT 'contact-35', 'else'`,
  `DELETE FROM contacts WHERE id = '${ERASED}'`,
];

test("an id that two neighbouring values form is no trace", async () => {
  expect(await leftAfter([NEIGHBOURS])).toEqual({ files: 1, times: [] });
});

test("an id in a deleted row that the file still holds is a trace, also beside neighbours that form it", async () => {
  expect(await leftAfter(ERASED_AND_DELETED)).toEqual({ files: 1, times: [[null, "id", 1]] });
  expect(await leftAfter([NEIGHBOURS, ...ERASED_AND_DELETED])).toEqual({ files: 1, times: [[null, "id", 1]] });
});

/** Runs `work` without the rights of the administrator, who can read every folder. */
const asNobody = async <T>(work: () => Promise<T>): Promise<T> => {
  const { geteuid, seteuid } = process;
  if (geteuid?.() !== 0 || seteuid === undefined) return work();
  seteuid(65_534);
  try {
    return await work();
  } finally {
    seteuid(0);
  }
};

const NO_TRACE = { id: ERASED, hash: "", traces: [] };
const searched = async (locked: string) => {
  const folder = mkdtempSync(join(tmpdir(), "duckmirror-scan-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, locked));
  chmodSync(join(folder, locked), 0);
  writeFileSync(join(folder, "exports.ndjson"), "");
  return asNobody(() => scanFor([NO_TRACE], [folder], { ...MEANS, tempDir: join(folder, "tmp") }));
};

test("a folder that cannot be read is an error, because a search without it proves nothing", async () => {
  await expect(searched("export")).rejects.toMatchObject({ code: "EACCES" });
});

test("what the file system made at the root of a disk does not keep the other files from being searched", async () => {
  expect((await searched("lost+found")).files).toBe(1);
});
