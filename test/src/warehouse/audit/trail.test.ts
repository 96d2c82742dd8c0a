// The audit trail on disk and in sync.audit: every line once, whatever ends the processes that write and load it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { readTrail } from "../../../../src/warehouse/audit/read-trail.ts";
import { type AuditedAction, openTrail, trailDir } from "../../../../src/warehouse/audit/trail.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { runQuery } from "../../../../src/warehouse/read/query.ts";
import { change } from "../../../support/change-mirror.ts";
import { aFolder } from "../../../support/cli.ts";

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 10, 22, 12);

let dataDir: string;
let now: number;
let warnings: string[];
beforeEach(() => {
  dataDir = aFolder();
  now = START;
  warnings = [];
});
const clock = { now: () => now, sleep: () => Promise.reject(new Error("nothing sleeps here")) };
const trailOf = (required = false) =>
  openTrail({ dataDir, enabled: true, required, clock, warn: (text) => void warnings.push(text) });

const A_QUERY: AuditedAction = {
  actor: "ann",
  way: "key",
  action: "query",
  sql: "from contacts where email = 'ada@x.example'",
};

const publish = (auditRetentionDays: number | null = null) =>
  change(dataDir, async () => undefined, { clock, auditRetentionDays });
const rowsOf = async (sql: string) => (await runQuery({ snapshot: join(dataDir, "warehouse.duckdb"), sql })).rows;
const actions = () => rowsOf("select actor, action, outcome, rows from sync.audit order by started_at, actor, rows");
const damaged = async () => (await rowsOf("select coalesce(sum(damaged), 0)::INT from sync.audit_files"))[0]?.[0];
const file = (name = "2026-11-22.jsonl") => join(trailDir(dataDir), name);
const cutOff = (text = '{"audit":1,"id":"00000000000000ff","started_at"') => writeFileSync(file(), text, { flag: "a" });

const child = async (...argv: readonly string[]) => {
  const script = fileURLToPath(new URL("../../../support/audit-child.ts", import.meta.url));
  const started = spawn(process.execPath, ["--import", "tsx", script, dataDir, ...argv], { stdio: "inherit" });
  const [code, signal] = await once(started, "exit");
  return signal ?? code;
};

describe("lines", () => {
  test("say who, what, when and how it ended, and hold no value of a statement", async () => {
    const end = trailOf().begin({ ...A_QUERY, osUser: "root", route: "/api/query", parameters: ["page"] });
    now += 250;
    end({ outcome: "ok", rows: 2, bytes: 100 });
    const [line] = (await readTrail(dataDir, 0, now)).lines.filter(({ outcome }) => outcome === "ok");
    expect(line).toMatchObject({
      started_at: "2026-11-22T12:00:00.000Z",
      actor: "ann",
      way: "key",
      os_user: "root",
      action: "query",
      route: "/api/query",
      parameters: ["page"],
      sql: "from contacts where email = ?",
      sql_length: 43,
      outcome: "ok",
      rows: 2,
      bytes: 100,
      duration_ms: 250,
    });
    expect(readFileSync(file(), "utf8")).not.toContain("x.example");
  });

  test("are short, and the files are their owner's", async () => {
    const sql = `select ${"name, ".repeat(5000)} 1`;
    trailOf().note({ ...A_QUERY, sql }, { outcome: "ok", subject: "x".repeat(5000) }, now);
    expect(statSync(file()).size).toBeLessThan(4096);
    expect((await readTrail(dataDir, 0, now)).lines[0]).toMatchObject({ sql_length: sql.length });
    for (const name of readdirSync(trailDir(dataDir))) expect(statSync(file(name)).mode & 0o777).toBe(0o600);
    expect(statSync(trailDir(dataDir)).mode & 0o777).toBe(0o700);
  });

  test("of a statement that cannot be read hold only length and hash", async () => {
    trailOf().note({ ...A_QUERY, sql: "select 'ada@x.example" }, { outcome: "QUERY_FAILED" }, now);
    expect((await readTrail(dataDir, 0, now)).lines[0]).toMatchObject({ sql: null, sql_length: 21 });
    expect(readFileSync(file(), "utf8")).not.toContain("x.example");
  });
});

test("two processes that write at once mix no lines", async () => {
  expect(await Promise.all([child("ann", "300"), child("bob", "300")])).toEqual([0, 0]);
  const { lines, damaged: cut } = await readTrail(dataDir, 0, Date.now());
  expect([lines.length, cut]).toEqual([1200, 0]);
  now = Date.now();
  await publish();
  const counts =
    "select actor, count(*)::INT, sum(rows)::INT, count(distinct sql_hash)::INT from sync.audit group by 1 order by 1";
  expect(await rowsOf(counts)).toEqual([
    ["ann", 300, 44_850, 300],
    ["bob", 300, 44_850, 300],
  ]);
});

test("a process that is killed leaves its begin, and half a line harms no other", async () => {
  now = Date.now();
  expect(await child("ann", "1", "killed")).toBe("SIGKILL");
  await publish();
  expect([await actions(), await damaged()]).toEqual([
    [
      ["ann", "query", "ok", 0],
      ["ann", "query", "started", null],
    ],
    0,
  ]);
  // The next line is written behind the half one.
  now = Date.now();
  trailOf().note({ ...A_QUERY, actor: "bob" }, { outcome: "ok", rows: 7 }, now);
  await publish();
  expect((await actions()).at(-1)).toEqual(["bob", "query", "ok", 7]);
  expect(await damaged()).toBe(1);
});

describe("loading", () => {
  test("takes each line once, and an action's end in place of its begin", async () => {
    const end = trailOf().begin(A_QUERY);
    await publish();
    expect(await actions()).toEqual([["ann", "query", "started", null]]);
    end({ outcome: "ok", rows: 3 });
    await publish();
    await publish();
    expect(await actions()).toEqual([["ann", "query", "ok", 3]]);
  });

  test("continues after a kill between append and load, and after one that undid the load", async () => {
    const trail = trailOf();
    trail.note(A_QUERY, { outcome: "ok", rows: 1 }, now);
    await publish();
    trail.note(A_QUERY, { outcome: "ok", rows: 2 }, now);
    // Opened and closed without a publish: the line waits for the next one.
    await (await openWarehouse({ dataDir, clock })).close();
    trail.note(A_QUERY, { outcome: "ok", rows: 3 }, now);
    await publish();
    expect((await actions()).map((row) => row[3])).toEqual([1, 2, 3]);
  });

  test("skips and counts damaged lines, and reads every other", async () => {
    const trail = trailOf();
    trail.note(A_QUERY, { outcome: "ok", rows: 1 }, now);
    cutOff();
    trail.note(A_QUERY, { outcome: "ok", rows: 2 }, now);
    cutOff('no json\n{"audit":1}\n\u0000\u0000\n');
    trail.note(A_QUERY, { outcome: "ok", rows: 3 }, now);
    cutOff();
    await publish();
    expect([(await actions()).map((row) => row[3]), await damaged()]).toEqual([[1, 2, 3], 4]);
    // Nobody writes to a file of last week: its last piece is damaged, too.
    now += 7 * DAY_MS;
    await publish();
    expect([(await actions()).length, await damaged()]).toEqual([3, 5]);
  });

  test("reads a piece of a line when it is whole", async () => {
    const trail = trailOf();
    for (const rows of [1, 2]) trail.note(A_QUERY, { outcome: "ok", rows }, now);
    const text = readFileSync(file(), "utf8");
    writeFileSync(file(), text.slice(0, -20));
    await publish();
    expect((await actions()).map((row) => row[3])).toEqual([1]);
    appendFileSync(file(), text.slice(-20));
    await publish();
    expect([(await actions()).map((row) => row[3]), await damaged()]).toEqual([[1, 2], 0]);
  });

  test("of a file that was cut and written again repeats no row", async () => {
    const trail = trailOf();
    trail.note(A_QUERY, { outcome: "ok", rows: 1 }, now);
    const { size } = statSync(file());
    trail.note(A_QUERY, { outcome: "ok", rows: 2 }, now);
    await publish();
    truncateSync(file(), size);
    await publish();
    expect((await actions()).map((row) => row[3])).toEqual([1, 2]);
  });

  test("publishes the mirror although a file cannot be read, and shows why", async () => {
    trailOf().note(A_QUERY, { outcome: "ok" }, now);
    mkdirSync(file("2026-11-21.jsonl"));
    await publish();
    expect(await rowsOf("select file, problem is null from sync.audit_files order by 1")).toEqual([
      ["2026-11-21.jsonl", false],
      ["2026-11-22.jsonl", true],
    ]);
    expect(await actions()).toHaveLength(1);
    expect((await readTrail(dataDir, 0, now)).problems).toHaveLength(1);
  });
});

test("retention removes rows and files that are older, and no others", async () => {
  const trail = trailOf();
  for (const rows of [1, 2, 3]) {
    trail.note(A_QUERY, { outcome: "ok", rows }, now);
    now += 10 * DAY_MS;
  }
  await publish(null);
  expect(await actions()).toHaveLength(3);
  await publish(20);
  expect((await actions()).map((row) => row[3])).toEqual([2, 3]);
  expect(readdirSync(trailDir(dataDir)).filter((name) => name.endsWith(".jsonl"))).toEqual([
    "2026-12-02.jsonl",
    "2026-12-12.jsonl",
  ]);
  expect(await rowsOf("select count(*)::INT from sync.audit_files")).toEqual([[2]]);
});

test("lines before the day of the asked time are not read", async () => {
  trailOf().note(A_QUERY, { outcome: "ok" }, now);
  const nextDay = Date.UTC(2026, 10, 23);
  expect((await readTrail(dataDir, nextDay - 1, nextDay)).lines).toHaveLength(1);
  expect((await readTrail(dataDir, nextDay, nextDay)).lines).toEqual([]);
});

test("a link planted in place of a day's file is not followed", () => {
  mkdirSync(trailDir(dataDir), { recursive: true });
  const theirs = join(dataDir, "theirs");
  writeFileSync(theirs, "");
  symlinkSync(theirs, file());
  trailOf().note(A_QUERY, { outcome: "ok" }, now);
  expect([readFileSync(theirs, "utf8"), warnings.length]).toEqual(["", 1]);
});

describe("a trail that cannot be written", () => {
  beforeEach(() => {
    mkdirSync(join(dataDir, "state"), { recursive: true });
    writeFileSync(trailDir(dataDir), "a file in the folder's place");
  });

  test("warns once and lets the action go on", () => {
    const trail = trailOf();
    trail.begin(A_QUERY)({ outcome: "ok" });
    trail.note(A_QUERY, { outcome: "ok" }, now);
    expect(warnings).toEqual([expect.stringContaining("audit trail")]);
  });

  test("is named in the mirror that is published all the same, until it can be read", async () => {
    await publish();
    const problems = "select count(*)::INT from sync.audit_files where problem is not null";
    expect(await rowsOf(problems)).toEqual([[1]]);
    rmSync(trailDir(dataDir));
    trailOf().note(A_QUERY, { outcome: "ok" }, now);
    await publish();
    expect([await rowsOf(problems), (await actions()).length]).toEqual([[[0]], 1]);
  });

  test("stops the action where it is required", () => {
    expect(() => trailOf(true).begin(A_QUERY)).toThrow(expect.objectContaining({ code: "AUDIT_UNWRITABLE" }));
    expect(warnings).toEqual([]);
  });
});

test("a trail that is switched off writes nothing, and its mirror has no rows of it", async () => {
  const trail = openTrail({ dataDir, enabled: false, required: true, clock, warn: () => undefined });
  trail.begin(A_QUERY)({ outcome: "ok" });
  await publish(30);
  expect([await actions(), existsSync(trailDir(dataDir))]).toEqual([[], false]);
});
