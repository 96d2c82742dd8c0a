// What `check` saw, for plans before the first sync.
import { expect, test } from "vitest";
import { learnChecked, readChecked } from "../../../../src/core/state/checked.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

const counted = (total: number, page: number | null = null, filters: string | null = null) => ({
  total,
  page,
  filters,
});

test("a check adds to what earlier ones saw, and replaces the lists that it asked for and the figures that were reported", async () => {
  const dataDir = tempDir();
  expect(await readChecked(dataDir)).toMatchObject({ lists: {}, credits: null });
  const credits = { limit: 100, used: 7, remaining: 93, resetsAt: null };
  await learnChecked(dataDir, { lists: { accounts: counted(5, 100), signals: counted(9, null, "{}") }, credits });
  await learnChecked(dataDir, { lists: { accounts: counted(6) }, credits: null });
  expect(await readChecked(dataDir)).toMatchObject({
    lists: { accounts: counted(6), signals: counted(9, null, "{}") },
    credits,
  });
});
