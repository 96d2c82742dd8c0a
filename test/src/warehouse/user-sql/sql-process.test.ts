// What the asking process makes of a process of a user's SQL that native code has taken over: a program in its place plays it.
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { frameOf } from "../../../../src/warehouse/user-sql/frames.ts";
import { excessOf } from "../../../../src/warehouse/user-sql/process-limits.ts";
import { argumentsOn, startSqlProcess } from "../../../../src/warehouse/user-sql/sql-process.ts";
import { tempDir } from "../temp-dir.ts";

const node = process.execPath;
let dir: string;
let crashes: number;
beforeEach(() => {
  dir = tempDir();
  crashes = 0;
});
afterEach(() => {
  process.execPath = node;
});

/** A process that says that it is ready and then runs `code`, which has `send` and `asked`, the first request. */
const takenOver = (code: string) => {
  const ready = frameOf({ kind: "ready" }).toString("base64");
  const [program, starter] = [join(dir, "taken.mjs"), join(dir, "node")];
  writeFileSync(
    program,
    `import * as fs from "node:fs";
    import { once } from "node:events";
    const send = (bytes) => { for (let sent = 0; sent < bytes.length; ) sent += fs.writeSync(3, bytes, sent); };
    const frame = (text, marks = 1) => Buffer.concat([Buffer.from(new Uint32Array([text.length]).buffer), Buffer.from([marks]), Buffer.from(text)]);
    send(Buffer.from("${ready}", "base64"));
    const asked = once(process.stdin, "data");
    setInterval(() => {}, 1e6);
    ${code}`,
  );
  writeFileSync(starter, `#!/bin/sh\nexec ${node} ${program}\n`);
  chmodSync(starter, 0o700);
  process.execPath = starter;
  const limits = { memoryMiB: 512, timeMs: 60_000, rowCharacters: 8_000_000 };
  return startSqlProcess(limits, { snapshot: null, fenced: false, onCrash: () => (crashes += 1) });
};

const HALF = 1_000_000;

test.each([
  ["millions of values", `await asked; send(frame('{"kind":"rows","rows":[' + "[],".repeat(${HALF * 8}) + "[]]}"))`],
  ["a frame that is too large", "await asked; send(Buffer.from([255, 255, 255, 255, 0]))"],
  [
    "a second answer that nobody asked for",
    `await asked; const one = frame('{"kind":"rows","rows":[]}'); send(Buffer.concat([one, one]))`,
  ],
])("a process that sends %s is ended and counted, and the event loop goes on", async (_name, code) => {
  const sqlProcess = takenOver(code);
  let longest = 0;
  let last = performance.now();
  const beat = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 10);
  await sqlProcess.ready;
  const answer = sqlProcess.request({ kind: "next" }).then(() => sqlProcess.request({ kind: "next" }));
  await expect(answer).rejects.toMatchObject({
    code: "QUERY_LIMIT",
    message: expect.stringContaining("sent what no answer is"),
  });
  await sqlProcess.gone;
  clearInterval(beat);
  expect(crashes).toBe(1);
  // A busy machine counts in it; parsed without a limit, millions of values took a minute.
  expect(longest).toBeLessThan(5_000);
});

test("an error of any length is cut, and complaints without end keep nobody busy", async () => {
  const sqlProcess = takenOver(
    `await asked; send(frame(JSON.stringify({ kind: "failed", detail: "x".repeat(5e6) })));
    try { for (;;) fs.writeSync(2, Buffer.alloc(65536, 120)); } catch { send(frame('{"kind":"tooLarge"}')); }`,
  );
  await sqlProcess.ready;
  expect(await sqlProcess.request({ kind: "next" })).toMatchObject({ detail: "x".repeat(20_000) });
  expect(await sqlProcess.request({ kind: "next" })).toEqual({ kind: "tooLarge" });
  sqlProcess.end(new Error("over"));
  await sqlProcess.gone;
});

test("a process that starts threads without end is ended, and named", async () => {
  const sqlProcess = takenOver(
    `const { Worker } = await import("node:worker_threads");
    for (let n = 0; n < 200; n += 1) new Worker("setInterval(() => {}, 1e6)", { eval: true, resourceLimits: { maxOldGenerationSizeMb: 4 } });`,
  );
  // It may be ended before it has said that it is ready.
  await expect(sqlProcess.ready.then(() => sqlProcess.request({ kind: "next" }))).rejects.toMatchObject({
    code: "QUERY_LIMIT",
    message: expect.stringMatching(/started more than \d+ threads/),
  });
  await sqlProcess.gone;
});

test("memory beyond the limit is seen, whichever kind it is", () => {
  const most = { threads: 10_000, memoryKiB: 1e9 };
  expect(excessOf(process.pid, most)).toBeNull();
  expect(excessOf(process.pid, { ...most, memoryKiB: 20_480 })).toBe("it took more than 20 MiB of memory");
  expect(excessOf(2 ** 22 + 1, most)).toBeNull();
});

test("the server goes first", async () => {
  const sqlProcess = takenOver(
    `await asked;
    const stat = fs.readFileSync("/proc/self/stat", "utf8");
    send(frame(JSON.stringify({ kind: "failed", detail: stat.slice(stat.lastIndexOf(")")).split(" ")[17] })));`,
  );
  await sqlProcess.ready;
  expect(await sqlProcess.request({ kind: "next" })).toEqual({ kind: "failed", detail: "10" });
  sqlProcess.end(new Error("over"));
  await sqlProcess.gone;
});

describe("how it starts", () => {
  const limits = { memoryMiB: 512, timeMs: 60_000 };
  const reach = { snapshot: "/data/warehouse.duckdb", fenced: true, onCrash: () => undefined };
  const words = (argv: readonly string[] | null) => (argv ?? []).map((word) => word.replace(/.*\//, ""));

  test("Linux: the launcher, which limits and fences and becomes the program", () => {
    const [launcher = "", launch = ""] = argumentsOn("linux", limits, reach) ?? [];
    expect(launcher).toMatch(/launcher/);
    expect(JSON.parse(launch)).toMatchObject({
      limits: { memoryBytes: expect.any(Number), cpuSeconds: expect.any(Number) },
      readable: expect.arrayContaining(["/data/warehouse.duckdb"]),
    });
    const open = JSON.parse(argumentsOn("linux", limits, { ...reach, fenced: false })?.[1] ?? "");
    expect(open).toMatchObject({ limits: expect.anything(), readable: null });
  });

  test.each(["win32", "darwin"] as const)(
    "%s: Node with the program, without a shell; with a fence not at all",
    async (system) => {
      expect(words(argumentsOn(system, limits, { ...reach, fenced: false }))).toEqual([
        "--max-old-space-size=512",
        expect.stringMatching(/program\.m?js$/),
      ]);
      const refused = startSqlProcess(limits, reach, system);
      const expected = { code: "USER_SQL_NO_BOX", message: expect.stringContaining(system) };
      await expect(refused.ready).rejects.toMatchObject(expected);
      expect(refused.isOver()).toBe(true);
    },
  );

  test.each(["win32", "darwin"] as const)("%s: the owner's statement runs", async (system) => {
    const file = join(dir, "one.duckdb");
    (await DuckDBInstance.create(file)).closeSync();
    const open = { ...reach, snapshot: file, fenced: false };
    const sqlProcess = startSqlProcess(limits, open, system);
    await sqlProcess.ready;
    const asked = { kind: "run", snapshot: file, sql: "SELECT 42 AS answer", gated: false } as const;
    const first = await sqlProcess.request({ ...asked, memoryLimit: "512MiB", rowCharacters: 1_000_000 });
    expect(first).toEqual({ kind: "columns", columns: [{ name: "answer", type: "INTEGER" }] });
    expect(await sqlProcess.request({ kind: "next" })).toEqual({ kind: "rows", rows: [[42]] });
    sqlProcess.end(new Error("over"));
    await sqlProcess.gone;
  });
});
