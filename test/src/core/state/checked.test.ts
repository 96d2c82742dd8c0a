// What `check` saw, for plans before the first sync.
import { expect, test } from "vitest";
import { type Checked, learnChecked, readChecked } from "../../../../src/core/state/checked.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

const saw = (more: Partial<Checked>): Checked => ({
  totals: new Map(),
  filters: new Map(),
  pageSizes: new Map(),
  credits: null,
  ...more,
});

test("nothing, before the first check", async () => {
  expect(await readChecked(tempDir())).toEqual(saw({}));
});

test("a check adds to what earlier ones saw, and replaces the lists that it asked for", async () => {
  const dataDir = tempDir();
  const first = {
    totals: new Map([
      ["accounts", 5],
      ["signals", 9],
    ]),
    pageSizes: new Map([["accounts", 100]]),
  };
  await learnChecked(dataDir, saw({ ...first, filters: new Map([["signals", "{}"]]) }), 1);
  await learnChecked(dataDir, saw({ totals: new Map([["accounts", 6]]) }), 2);
  const { totals, pageSizes, filters } = await readChecked(dataDir);
  expect([[...totals], [...pageSizes], [...filters]]).toEqual([
    [
      ["accounts", 6],
      ["signals", 9],
    ],
    [],
    [["signals", "{}"]],
  ]);
});

test("each used credit is an entry of the request history; figures that were not reported keep the last ones", async () => {
  const dataDir = tempDir();
  const credits = { limit: 100, used: 7, remaining: 93, resetsAt: null };
  await learnChecked(dataDir, saw({ credits }), 1);
  await learnChecked(dataDir, saw({}), 2);
  const { totals, credits: last } = await readChecked(dataDir);
  expect([totals.get("usage"), last]).toEqual([7, credits]);
});
