// Files of the audit trail are read to their last complete line, from where the reader stopped.
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readParts, readTrail } from "../../../../src/warehouse/audit/read-trail.ts";
import { trailDir } from "../../../../src/warehouse/audit/trail.ts";
import { tempDir } from "../temp-dir.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 22, 12);
const aLine = (id: number) =>
  `{"audit":1,"id":"${String(id).padStart(16, "0")}","started_at":"2026-11-22T00:00:00.000Z","actor":"x","way":"key","action":"query","outcome":"done"}\n`;
const read = async (file: string, from: number, settled = false) => {
  const found: { lines: number; damaged: number; end: number }[] = [];
  for await (const { lines, damaged, end } of readParts(file, from, settled))
    found.push({ lines: lines.length, damaged, end });
  return found;
};

test("a piece of a line that is being written is read next time", async () => {
  const file = join(tempDir(), "2026-11-22.jsonl");
  const [one, two] = [aLine(1), aLine(2)];
  writeFileSync(file, one + two.slice(0, 20));
  expect(await read(file, 0)).toEqual([{ lines: 1, damaged: 0, end: one.length }]);
  expect(await read(file, one.length)).toEqual([]);
  appendFileSync(file, two.slice(20));
  expect(await read(file, one.length)).toEqual([{ lines: 1, damaged: 0, end: one.length + two.length }]);
});

test("in a file that nobody writes any more, it is damaged", async () => {
  const file = join(tempDir(), "2026-11-20.jsonl");
  writeFileSync(file, `${aLine(1)}{"audit":1,`);
  expect(await read(file, aLine(1).length, true)).toEqual([{ lines: 0, damaged: 1, end: aLine(1).length + 11 }]);
});

test("a file that became shorter is another file, and read from its beginning", async () => {
  const file = join(tempDir(), "2026-11-22.jsonl");
  writeFileSync(file, aLine(1));
  expect(await read(file, 9_999)).toEqual([{ lines: 1, damaged: 0, end: aLine(1).length }]);
});

test("days before the asked time are not read; a file that cannot be read is named", async () => {
  const dataDir = tempDir();
  const dir = trailDir(dataDir);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "2026-11-20.jsonl"), aLine(1));
  writeFileSync(join(dir, "2026-11-21.jsonl"), aLine(2));
  mkdirSync(join(dir, "2026-11-22.jsonl"));
  const { lines, problems } = await readTrail(dataDir, NOW - DAY, NOW);
  expect(lines).toHaveLength(1);
  expect(problems).toEqual([expect.stringMatching(/^2026-11-22\.jsonl: /)]);
  // The day of the asked time counts as a whole.
  expect((await readTrail(dataDir, Date.UTC(2026, 10, 21), NOW)).lines).toHaveLength(1);
  expect((await readTrail(dataDir, Date.UTC(2026, 10, 21) - 1, NOW)).lines).toHaveLength(2);
});

test("without a trail there is nothing to read", async () => {
  expect(await readTrail(tempDir(), 0, NOW)).toEqual({ lines: [], damaged: 0, problems: [] });
});
