// Which files of the archive are read, and in which order.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { archiveFiles, readArchive, readIntents, records } from "../../../../src/warehouse/archive/read-archive.ts";
import { aHeader } from "../../../support/memory-archive.ts";
import { tempDir } from "../temp-dir.ts";

const RESPONSES = ".ndjson.gz";
const put = (dir: string, name: string, content: string | Buffer = ""): string => {
  const file = join(dir, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
};
const headerOf = (requestId: string, bytes: number) => JSON.stringify(aHeader({ requestId, bytes }));

test("months, then runs by their ids, then the parts of a run by their number", async () => {
  const dir = tempDir();
  const names = [
    "2025-12/run-9.ndjson.gz",
    "2026-01/run-1.ndjson.gz",
    "2026-01/run-1.2.ndjson.gz",
    "2026-01/run-1.10.ndjson.gz",
    "2026-01/run-10.ndjson.gz",
  ];
  for (const name of [...names].reverse()) put(dir, name);
  put(dir, "2026-01/run-1.intents.ndjson");
  put(dir, "forgotten.json");
  put(dir, "2026-1/run-0.ndjson.gz");
  const found = async (runId?: string) =>
    (await archiveFiles(dir, RESPONSES, runId)).map((file) => file.slice(dir.length + 1));
  expect(await found()).toEqual(names);
  expect(await found("run-1")).toEqual(names.slice(1, 4));
  expect(await archiveFiles(join(dir, "none"), RESPONSES)).toEqual([]);
});

test("a body is as long as its header says, whatever lines it holds; a line that is no header is passed over", async () => {
  const body = `\n${headerOf("inside", 0)}\n`;
  const text = `noise\n${headerOf("a", body.length)}\n${body}\n${headerOf("b", 2)}\n{}\n`;
  const dir = tempDir();
  put(dir, "2026-01/r.ndjson.gz", gzipSync(text));
  const found: string[] = [];
  for await (const { header, body: bytes } of readArchive(dir)) found.push(`${header.requestId}: ${bytes}`);
  expect(found).toEqual([`a: ${body}`, "b: {}"]);
});

test("a file that was cut off gives its whole responses, and says that something is missing", async () => {
  const whole = gzipSync(`${headerOf("a", 2)}\n{}\n`);
  const rest = gzipSync(`${headerOf("b", 2)}\n{}\n`);
  const dir = tempDir();
  const read = async (name: string, content: Buffer) => {
    const file = put(dir, name, content);
    let torn = 0;
    const ids: string[] = [];
    for await (const { header } of records(file, () => (torn += 1))) ids.push(header.requestId);
    return { ids, torn: torn > 0 };
  };
  expect(await read("1", Buffer.concat([whole, rest]))).toEqual({ ids: ["a", "b"], torn: false });
  expect(await read("2", Buffer.concat([whole, rest.subarray(0, -12)]))).toEqual({ ids: ["a"], torn: true });
  expect(await read("3", gzipSync(`${headerOf("a", 9)}\n{}\n`))).toEqual({ ids: [], torn: true });
});

test("a folder that cannot be read is no empty archive, whose answers would be paid again", async () => {
  const dir = join(tempDir(), "archive");
  expect(await readIntents(dir, "r")).toEqual([]);
  symlinkSync(dir, dir);
  await expect(readIntents(dir, "r")).rejects.toMatchObject({ code: "DATA_DIR_UNWRITABLE" });
});
