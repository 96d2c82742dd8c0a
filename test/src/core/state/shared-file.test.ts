// State files that several processes write, and the progress that one shows to others.
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { noteProgress, readProgress } from "../../../../src/core/state/progress-file.ts";
import { changeShared, lastingId, readShared, unwritable } from "../../../../src/core/state/shared-file.ts";
import { asNobody } from "../../../support/as-nobody.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

// The error of a file that could not be written says what to do: free space, or look at permissions.

const systemError = (code: string) => Object.assign(new Error(`${code}: no luck, write`), { code });

test.each([
  ["ENOSPC", "DISK_FULL", 1],
  ["EDQUOT", "DISK_FULL", 1],
  ["EROFS", "DATA_DIR_UNWRITABLE", 2],
  ["EACCES", "DATA_DIR_UNWRITABLE", 2],
])("%s is %s", (code, error, exitCode) => {
  const cause = systemError(code);
  expect(unwritable("/data", cause)).toMatchObject({ code: error, exitCode, cause });
  expect(unwritable("/data", cause).message).toContain(cause.message);
});

// An id that is made once and stays.

test("the same for ever, also if several ask for it at once", async () => {
  const dataDir = tempDir();
  const ids = await Promise.all(Array.from({ length: 5 }, () => lastingId(dataDir, "id")));
  expect(new Set(ids).size).toBe(1);
  expect(ids[0]).toMatch(/^[0-9a-f]{16}$/);
  expect(await lastingId(dataDir, "id")).toBe(ids[0]);
  expect(await lastingId(dataDir, "other")).not.toBe(ids[0]);
  expect(readdirSync(join(dataDir, "state")).sort()).toEqual(["id", "other"]);
});

test("a file that holds no id is replaced; a link in its place stops", async () => {
  const dataDir = tempDir();
  mkdirSync(join(dataDir, "state"));
  writeFileSync(join(dataDir, "state", "id"), "");
  const id = await lastingId(dataDir, "id");
  expect(readFileSync(join(dataDir, "state", "id"), "utf8")).toBe(`${id}\n`);
  symlinkSync(join(dataDir, "state", "id"), join(dataDir, "state", "linked"));
  await expect(lastingId(dataDir, "linked")).rejects.toMatchObject({ code: "DATA_DIR_UNWRITABLE" });
});

test("an id that cannot be read for a moment stays what it is, because destinations know the mirror by it", async () => {
  const dataDir = tempDir();
  const id = await lastingId(dataDir, "id");
  const [state, file] = [join(dataDir, "state"), join(dataDir, "state", "id")];
  chmodSync(dataDir, 0o755);
  chmodSync(state, 0o777);
  chmodSync(file, 0);
  await expect(asNobody(() => lastingId(dataDir, "id"))).rejects.toMatchObject({ code: "EACCES" });
  chmodSync(file, 0o600);
  expect(await lastingId(dataDir, "id")).toBe(id);
});

const aFile = async () => {
  const dir = tempDir();
  const path = join(dir, "names.json");
  return {
    dir,
    next: `${path}.next`,
    file: { path, schema: z.array(z.string()), holds: "list of names", without: "it begins empty", empty: [] },
  };
};

const adding = (name: string) => (names: readonly string[]) => [...names, name];

test.each(["", '["half', '{"v":1}'])(
  "a file that holds %j is named, with what follows if it is moved away",
  async (text) => {
    const { file } = await aFile();
    writeFileSync(file.path, text);
    const failure = { code: "STATE_FILE_DAMAGED", hint: expect.stringContaining("move it away: it begins empty.") };
    await expect(readShared(file)).rejects.toMatchObject(failure);
    await expect(changeShared(file, adding("a"))).rejects.toMatchObject(failure);
    expect(readFileSync(file.path, "utf8")).toBe(text);
  },
);

test("changes of the same moment are all kept, and leave nothing behind", async () => {
  const { dir, file } = await aFile();
  const names = ["a", "b", "c", "d", "e", "f"];
  await Promise.all(names.map((name) => changeShared(file, adding(name))));
  expect([...(await readShared(file))].sort()).toEqual(names);
  expect(await readdir(dir)).toEqual(["names.json"]);
});

test("a change that another process took for abandoned and replaced is made again, on top of that one's", async () => {
  const { dir, next, file } = await aFile();
  let taken = false;
  const changed = await changeShared(file, (names) => {
    // As after a pause of this process, or a jump of the clock: another one removes the change and makes its own.
    if (!taken) {
      unlinkSync(next);
      writeFileSync(file.path, JSON.stringify(["theirs"]));
      taken = true;
    }
    return adding("ours")(names);
  });
  expect(changed).toEqual(["theirs", "ours"]);
  expect(await readdir(dir)).toEqual(["names.json"]);
});

test("the unfinished change of another process is never published in its place", async () => {
  const { next, file } = await aFile();
  const seen: string[] = [];
  let taken = false;
  await changeShared(file, (names) => {
    if (!taken) {
      unlinkSync(next);
      writeFileSync(next, '["half');
      setImmediate(() => {
        writeFileSync(next, JSON.stringify(["theirs"]));
        renameSync(next, file.path);
      });
      taken = true;
    } else seen.push(readFileSync(file.path, "utf8"));
    return adding("ours")(names);
  });
  expect(seen).toEqual(['["theirs"]']);
  expect(await readShared(file)).toEqual(["theirs", "ours"]);
});

test("a change that a killed process left is removed", async () => {
  const { dir, next, file } = await aFile();
  writeFileSync(next, "half");
  utimesSync(next, 1, 1);
  expect(await changeShared(file, adding("ours"))).toEqual(["ours"]);
  expect(await readdir(dir)).toEqual(["names.json"]);
});

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
