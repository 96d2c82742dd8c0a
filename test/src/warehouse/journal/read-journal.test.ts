// The journal's files in their order, and which of two entries with one number was made.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import {
  beginsAtFirst,
  journalFiles,
  lastJournalled,
  readForgottenEntries,
  readJournal,
} from "../../../../src/warehouse/journal/read-journal.ts";
import { tempDir } from "../temp-dir.ts";

const learned = (seq: number, value: string) =>
  `${JSON.stringify({ seq, entry: { kind: "learned", name: "x", value, now: 1 } })}\n`;
const nameOf = (seq: number, part = "") => `${String(seq).padStart(12, "0")}${part}.journal.ndjson`;
const aJournal = (files: Readonly<Record<string, string>>): string => {
  const dir = tempDir();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return dir;
};
const read = async (dir: string, after?: number) => {
  const gaps: string[] = [];
  const values: string[] = [];
  for await (const { seq, entry } of readJournal(dir, (from, to) => gaps.push(`${from}-${to}`), after))
    values.push(`${seq}${entry.kind === "learned" ? entry.value : ""}`);
  return { values, gaps };
};

test("files follow by the number of their first entry, then by month, then by part", async () => {
  const names = [
    `2026-01/${nameOf(1)}`,
    `2025-12/${nameOf(7)}`,
    `2026-01/${nameOf(7)}`,
    `2026-01/${nameOf(7, ".2")}`,
    `2026-01/${nameOf(7, ".10")}`,
  ];
  const dir = aJournal(Object.fromEntries([...names].reverse().map((name) => [name, ""])));
  writeFileSync(join(dir, "2026-01", "run.ndjson.gz"), "");
  expect((await journalFiles(dir)).map((file) => file.slice(dir.length + 1))).toEqual(names);
  expect(await journalFiles(join(dir, "none"))).toEqual([]);
});

test("of two entries with one number the later one was made", async () => {
  const dir = aJournal({
    [`2026-01/${nameOf(1)}`]: learned(1, "a") + learned(2, "never"),
    [`2026-01/${nameOf(2)}`]: learned(2, "b"),
  });
  expect(await read(dir)).toEqual({ values: ["1a", "2b"], gaps: [] });
  expect(await read(dir, 1)).toEqual({ values: ["2b"], gaps: [] });
});

test("missing numbers are named, also at the beginning", async () => {
  const dir = aJournal({ [`2026-01/${nameOf(3)}`]: learned(3, "a") + learned(6, "b") });
  expect(await read(dir)).toEqual({ values: ["3a", "6b"], gaps: ["1-2", "4-5"] });
  expect(await read(dir, 3)).toEqual({ values: ["6b"], gaps: ["4-5"] });
});

test("a line that was cut off is passed over; an entry that nobody can read stops", async () => {
  const dir = aJournal({ [`2026-01/${nameOf(1)}`]: `${learned(1, "a")}{"seq":2,"ent` });
  expect(await read(dir)).toEqual({ values: ["1a"], gaps: [] });
  const ofNoTable = { kind: "deleted", runId: "r", table: "podcasts", gone: [], now: 1, walkId: null, scope: null };
  for (const entry of [{ kind: "leap" }, ofNoTable]) {
    const newer = aJournal({ [`2026-01/${nameOf(1)}`]: `${JSON.stringify({ seq: 1, entry })}\n` });
    await expect(read(newer)).rejects.toMatchObject({ code: "ARCHIVE_INCOMPLETE" });
  }
});

test("the last number is that of the newest file with an entry", async () => {
  const dir = aJournal({ [`2026-01/${nameOf(1)}`]: learned(1, "a") + learned(2, "b"), [`2026-02/${nameOf(3)}`]: "" });
  expect(await lastJournalled(dir)).toBe(2);
  expect(await lastJournalled(tempDir())).toBe(0);
});

test("a journal that begins at its first entry needs no baseline", async () => {
  expect(await beginsAtFirst(aJournal({ [`2026-01/${nameOf(1)}`]: "" }))).toBe(true);
  expect(await beginsAtFirst(aJournal({ [`2026-01/${nameOf(1, ".2")}`]: "" }))).toBe(true);
  expect(await beginsAtFirst(aJournal({ [`2026-01/${nameOf(10)}`]: "" }))).toBe(false);
  expect(await beginsAtFirst(tempDir())).toBe(false);
});

test("erasures are found among the other entries", async () => {
  const forgotten = { kind: "forgotten", hashes: ["h"], rows: 1, now: 1, changes: [], deleted: [] };
  const text = `${learned(1, '"kind":"forgotten"')}${JSON.stringify({ seq: 2, entry: forgotten })}\n`;
  expect(await readForgottenEntries(aJournal({ [`2026-01/${nameOf(1)}`]: text }))).toMatchObject([forgotten]);
});

test("a folder that cannot be read is no empty journal, beside which an old copy of the file would look new", async () => {
  const dir = join(tempDir(), "archive");
  expect(await lastJournalled(dir)).toBe(0);
  symlinkSync(dir, dir);
  await expect(lastJournalled(dir)).rejects.toMatchObject({ code: "DATA_DIR_UNWRITABLE" });
});
