// Progress of a sync, as another process reads it from the data directory.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noteProgress, readProgress } from "../../../../src/core/state/progress-file.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

const dataDir = () => {
  const folder = tempDir();
  mkdirSync(join(folder, "state"));
  return folder;
};
const page = {
  kind: "page",
  stream: "accounts",
  requests: 2,
  credits: 2,
  rows: 200,
  pagesDone: 2,
  pagesTotal: 5,
  rowsTotal: 500,
} as const;

test("another process reads what a sync does while it runs, and nothing once it has ended", async () => {
  const folder = dataDir();
  const heard: string[] = [];
  const noted = noteProgress(folder, Date, ({ kind }) => heard.push(kind));
  noted.begin();
  noted.emit({ kind: "run-started", runId: "run-1", mode: "incremental", at: Date.now() });
  noted.emit(page);
  await expect
    .poll(() => readProgress(folder, Date.now()), { timeout: 20_000 })
    .toMatchObject({ run_id: "run-1", rows: 200, credits: 2, streams: [{ stream: "accounts", pages_total: 5 }] });
  expect(heard).toEqual(["run-started", "page"]);
  await noted.end();
  expect(await readProgress(folder, Date.now())).toBeNull();
});

test("a sync that was killed a minute ago runs no more, and a damaged file says nothing", async () => {
  const folder = dataDir();
  const noted = noteProgress(folder, Date, () => undefined);
  noted.begin();
  await expect.poll(() => readProgress(folder, Date.now()), { timeout: 20_000 }).not.toBeNull();
  expect(await readProgress(folder, Date.now() + 61_000)).toBeNull();
  await noted.end();
  writeFileSync(join(folder, "state", "sync-progress.json"), "{ half");
  expect(await readProgress(folder, Date.now())).toBeNull();
});

test("a sync goes on where its progress cannot be written", async () => {
  const noted = noteProgress("/nowhere", Date, () => undefined);
  noted.begin();
  noted.emit(page);
  await noted.end();
  expect(await readProgress("/nowhere", Date.now())).toBeNull();
});
