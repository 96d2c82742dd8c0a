// DuckDB's errors carry no code: which text means what, with texts as DuckDB 1.5 and its file systems write them.
import { describe, expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import {
  fileError,
  isFatal,
  isOutOfMemory,
  openError,
  statementError,
  withOurGuess,
} from "../../../../src/warehouse/duckdb/duck-errors.ts";
import { forFile } from "../../../support/for-file.ts";

const codeOf = (error: unknown) => (error instanceof DuckmirrorError ? error.code : null);
const FULL = [
  'IO Error: Could not write file "/data/x": No space left on device',
  "IO Error: Disk quota exceeded",
  "IO Error: Could not write all bytes to file: wanted=262144 wrote=4096",
  "IO Error: File too large",
];
const NO_MEMORY = [
  "Out of Memory Error: failed to allocate data of size 1.0 MiB (99.0 MiB/100.0 MiB used)",
  "TransactionContext Error: Failed to commit: failed to pin block of size 256.0 KiB",
  "FATAL Error: could not allocate block of size 256.0 KiB",
  'Out of Memory Error: failed to offload data block of size 256.0 KiB. This limit was set by the "max_temp_directory_size" setting.',
];

describe("a statement's error", () => {
  test.each(FULL)("no room on disk: %s", (text) => {
    expect(codeOf(statementError(new Error(text)))).toBe("DISK_FULL");
  });

  test.each(NO_MEMORY)("no memory: %s", (text) => {
    expect(codeOf(statementError(new Error(text)))).toBe("NO_MEMORY");
    expect(isOutOfMemory(new Error(text))).toBe(true);
  });

  test("that is none of these stays as it is, and so does one of duckmirror's own", () => {
    const binder = new Error('Binder Error: Referenced column "memory" not found: out of memory error');
    expect(statementError(binder)).toBe(binder);
    const own = new DuckmirrorError("WRITER_BUSY", { dir: "no space left on device" });
    expect(statementError(own)).toBe(own);
    expect(isOutOfMemory(new DuckmirrorError("NO_MEMORY", { detail: "out of memory error" }))).toBe(false);
  });
});

test("an instance is unusable after a fatal error only", () => {
  expect(isFatal(new Error("FATAL Error: Failed: database has been invalidated"))).toBe(true);
  expect(isFatal(new Error("Invalid Error: the database has been invalidated because of a previous fatal error"))).toBe(
    true,
  );
  expect(isFatal(new Error("IO Error: this is not fatal error"))).toBe(false);
});

test.each([
  "Corrupt database file: computed checksum does not match stored checksum",
  'Could not read enough bytes from file "f": attempted to read 262144 bytes',
])("the snapshot or the working file is damaged, whichever was open: %s", (text) => {
  const damaged = new Error(`IO Error: ${text}`);
  expect(codeOf(fileError(damaged, "f", true))).toBe("SNAPSHOT_DAMAGED");
  expect(codeOf(fileError(damaged, "f", false))).toBe("WAREHOUSE_CORRUPT");
});

test("a disk that is full is named, whichever file was open", () => {
  expect(codeOf(fileError(new Error(FULL[0]), "f", true))).toBe("DISK_FULL");
});

test("a working file that may no longer be written is named; a file that a reader's query names is not", () => {
  const refused = new Error(
    'FATAL Error: Failed to create checkpoint because of error: Could not remove file "/data/working.duckdb.wal": Permission denied',
  );
  expect(fileError(refused, "/data/working.duckdb", false)).toMatchObject({
    code: "DATA_DIR_UNWRITABLE",
    message: expect.stringContaining("/data cannot be written"),
  });
  expect(fileError(refused, "/data/warehouse.duckdb", true)).toBe(refused);
});

test.each([
  ['IO Error: Could not set lock on file "/d/x": Conflicting lock is held in node (PID 7)', "WRITER_BUSY"],
  // Windows, in English and in Chinese, as users reported them.
  [
    'IO Error: Cannot open file "D:\\m\\writer.lock": The process cannot access the file because it is being used by another process.\r\n\n\nFile is already open in \nD:\\node\\node.exe (PID 8252)',
    "WRITER_BUSY",
  ],
  [
    'IO Error: Cannot open file "E:\\m\\writer.lock": 另一个程序正在使用此文件，进程无法访问。\r\n\nFile is already open in \nD:\\node\\node.exe (PID 3528)',
    "WRITER_BUSY",
  ],
  ['IO Error: Cannot open file "D:\\m\\x": Access is denied.\r\n', "DATA_DIR_UNWRITABLE"],
  [
    'IO Error: Could not write file "D:\\m\\x" (error in WriteFile): There is not enough space on the disk.\r\n',
    "DISK_FULL",
  ],
  [FULL[0] ?? "", "DISK_FULL"],
  ['IO Error: Cannot open file "/d/x": Permission denied', "DATA_DIR_UNWRITABLE"],
  ['IO Error: Cannot open file "/d/x": Read-only file system', "DATA_DIR_UNWRITABLE"],
  [NO_MEMORY[0] ?? "", "NO_MEMORY"],
  [
    "IO Error: Trying to read a database file with version number 99, but we can only read versions between 64 and 67.",
    "WAREHOUSE_NEWER",
  ],
  ['IO Error: The file "/d/x" exists, but it is not a valid DuckDB database file!', "WAREHOUSE_CORRUPT"],
  ["anything else", "WAREHOUSE_CORRUPT"],
])("opening fails with %s: %s", (text, code) => {
  const cause = new Error(text);
  expect(openError(cause, "/d/x", "/d")).toMatchObject({ code, cause });
});

test("an error of duckmirror's own passes while a file is opened", () => {
  const own = new DuckmirrorError("WRITER_BUSY", { dir: "/d" });
  expect(openError(own, "f", "d")).toBe(own);
});

// A table that does not exist: the guess is one of the mirror's own tables, whatever DuckDB guesses.

const empty = await forFile(openDatabase(":memory:"));
await empty.run("CREATE SCHEMA marts; CREATE SCHEMA history");
/** DuckDB's own message, from an empty database. */
const messageOf = (sql: string): Promise<string> =>
  empty.run(sql).then(
    () => "",
    (error: unknown) => (error instanceof Error ? error.message : ""),
  );

test.each([
  ["FROM sigals", "signals"],
  ["FROM acounts", "accounts"],
  ["FROM account_360", "marts.account_360"],
  ["FROM mart.account_360", "marts.account_360"],
  ["SELECT 1\nFROM history.contcts", "history.contacts"],
  ["FROM marts.acount_360", "marts.account_360"],
  ["FROM stream_state", "sync.stream_state"],
  ['FROM "job openings"', "job_openings"],
])("%s means %s", async (sql, meant) => {
  const message = withOurGuess(await messageOf(sql));
  expect(message).toContain(`\nDid you mean "${meant}"?\n`);
  expect(message.match(/Did you mean/g)).toHaveLength(1);
  expect(message).toContain("LINE ");
});

test("a name that is like none of ours gets no guess, not DuckDB's internal tables", async () => {
  const message = await messageOf("FROM invoices_of_2019");
  expect(message).toContain("Did you mean");
  expect(withOurGuess(message)).not.toContain("Did you mean");
});

test("other messages stay as they are", async () => {
  for (const sql of ["SELECT foo(1)", "SELECT nme FROM (SELECT 1 AS name)", "SELEC 1"]) {
    const message = await messageOf(sql);
    expect([sql, withOurGuess(message)]).toEqual([sql, message]);
  }
});
