// The journal: written before each change, in order, and right about what was not made.
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { isCode } from "../../../../src/core/errors.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import type { CallLine } from "../../../../src/warehouse/journal/call-lines.ts";
import { appendCallLine, callsDir, readCallFiles, removeCallFile } from "../../../../src/warehouse/journal/journal.ts";
import { readJournal } from "../../../../src/warehouse/journal/read-journal.ts";
import { aCheckpoint, aLoad, aRequest, aSignal, aWarehouse } from "../builders.ts";
import { tempDir } from "../temp-dir.ts";

// Call files: one per command, appended to line by line, read by the next process that holds the warehouse.

const begin = (runId: string): CallLine => ({ line: "begin", runId, mode: "check", at: 1, until: 2 });
const runs = async (dataDir: string) => (await readCallFiles(dataDir)).map(({ runId }) => runId);

test("the oldest command comes first; files of others, and those without a readable line, are left out", async () => {
  const dataDir = tempDir();
  expect(await runs(dataDir)).toEqual([]);
  for (const runId of ["20260102T000000Z-b", "20260101T000000Z-a"]) appendCallLine(dataDir, runId, begin(runId));
  writeFileSync(join(callsDir(dataDir), "20260103T000000Z-c.jsonl"), "{");
  writeFileSync(join(callsDir(dataDir), "note.txt"), "x");
  expect(await runs(dataDir)).toEqual(["20260101T000000Z-a", "20260102T000000Z-b"]);
});

test("every line goes behind the earlier ones, for its owner alone", async () => {
  const dataDir = tempDir();
  appendCallLine(dataDir, "r", begin("r"));
  appendCallLine(dataDir, "r", { line: "end", at: 7, error: null, quota: null });
  expect(await readCallFiles(dataDir)).toMatchObject([{ startedAt: 1, finishedAt: 7 }]);
  expect(statSync(join(callsDir(dataDir), "r.jsonl")).mode & 0o777).toBe(0o600);
});

test("a link is neither written to nor read", async () => {
  const dataDir = tempDir();
  mkdirSync(callsDir(dataDir), { recursive: true });
  const theirs = join(dataDir, "theirs");
  writeFileSync(theirs, `${JSON.stringify(begin("r"))}\n`);
  symlinkSync(theirs, join(callsDir(dataDir), "r.jsonl"));
  expect(() => appendCallLine(dataDir, "r", begin("r"))).toThrow();
  expect(await runs(dataDir)).toEqual([]);
});

test("a booked file is removed; one that another process removed before is no fault", async () => {
  const dataDir = tempDir();
  appendCallLine(dataDir, "r", begin("r"));
  removeCallFile(dataDir, "r");
  removeCallFile(dataDir, "r");
  expect(await runs(dataDir)).toEqual([]);
});

const archiveOf = (dataDir: string) => join(dataDir, "state", "archive");

const read = async (dataDir: string) => {
  const found: { seq: number; what: string }[] = [];
  const gaps: [number, number][] = [];
  for await (const { seq, entry } of readJournal(archiveOf(dataDir), (from, to) => gaps.push([from, to]))) {
    const what = entry.kind === "commit" ? entry.rows.map(({ requestId }) => requestId).join() : entry.kind;
    found.push({ seq, what });
  }
  return { found, gaps };
};

const files = (dataDir: string) => {
  const [month = ""] = readdirSync(archiveOf(dataDir));
  return readdirSync(join(archiveOf(dataDir), month))
    .sort()
    .map((name) => join(archiveOf(dataDir), month, name));
};

test("every change stands in it, in the order in which it was made, over several openings", async () => {
  const dataDir = tempDir();
  const first = await aWarehouse(dataDir);
  await first.startRun({ runId: "run-1", mode: "full", startedAt: 1 });
  await Promise.all([
    first.commit(aCheckpoint([aLoad("signals", [aSignal(1)], { requestId: "a" })])),
    first.setCapability("x", "1", 2),
    first.commit(aCheckpoint([aLoad("signals", [aSignal(2)], { requestId: "b" })])),
  ]);
  await first.commit({ runId: "run-1", loads: [], requests: [], scopes: [], quota: null });
  await first.close();
  const second = await aWarehouse(dataDir);
  await second.deleteKeys({ table: "signals", ids: ["1"], runId: "run-1", now: 3 });
  await second.close();
  expect(await read(dataDir)).toEqual({
    found: ["run-started", "a", "learned", "b", "deleted"].map((what, index) => ({ seq: index + 1, what })),
    gaps: [],
  });
  expect(files(dataDir)).toHaveLength(2);
});

test("rows that stand in no response are written out", async () => {
  const dataDir = tempDir();
  const warehouse = await aWarehouse(dataDir);
  const load = aLoad("company_inputs", [{ input: "x", status: "not_found" }], { requestId: "gone" });
  const requests = [aRequest("gone", { status: 404, charge: "free" })];
  await warehouse.commit(aCheckpoint([load], { requests }));
  await warehouse.close();
  for await (const { entry } of readJournal(archiveOf(dataDir), () => undefined)) {
    expect(entry).toMatchObject({ kind: "commit", rows: [{ from: "journal", records: load.records }] });
  }
});

test("a change whose transaction failed does not count: the next one takes its place", async () => {
  const dataDir = tempDir();
  const warehouse = await aWarehouse(dataDir);
  expect([...(await warehouse.capabilities())]).toEqual([]);
  await warehouse.setCapability("a", "1", 1);
  expect([...(await warehouse.capabilities())]).toEqual([["a", "1"]]);
  await expect(warehouse.setCapability("broken", "no JSON", 2)).rejects.toThrow();
  expect([...(await warehouse.capabilities())]).toEqual([["a", "1"]]);
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1)], { requestId: "after" })]));
  await warehouse.close();
  expect((await read(dataDir)).found).toEqual([
    { seq: 1, what: "learned" },
    { seq: 2, what: "after" },
  ]);
});

test("a change that was announced and not made before a crash is forgotten, and a torn line is no entry", async () => {
  const dataDir = tempDir();
  const first = await aWarehouse(dataDir);
  await first.setCapability("a", "1", 1);
  await first.close();
  const [file = ""] = files(dataDir);
  const announced = readFileSync(file, "utf8").replace('"seq":1', '"seq":2').replace('"a"', '"announced"');
  appendFileSync(file, `${announced}{"seq":3,"ent`);
  const second = await aWarehouse(dataDir);
  await second.startRun({ runId: "run-1", mode: "full", startedAt: 1 });
  await second.close();
  expect((await read(dataDir)).found).toEqual([
    { seq: 1, what: "learned" },
    { seq: 2, what: "run-started" },
  ]);
});

test("a working file that lacks more than a crash can explain is refused, and gaps are named", async () => {
  const dataDir = tempDir();
  const first = await aWarehouse(dataDir);
  await first.setCapability("a", "1", 1);
  await first.close();
  const [file = ""] = files(dataDir);
  writeFileSync(file, readFileSync(file, "utf8").replace('"seq":1', '"seq":7'));
  await expect(openWarehouse({ dataDir, clock: systemClock })).rejects.toSatisfy((error) =>
    isCode(error, "WAREHOUSE_BEHIND"),
  );
  expect((await read(dataDir)).gaps).toEqual([[1, 6]]);
});
