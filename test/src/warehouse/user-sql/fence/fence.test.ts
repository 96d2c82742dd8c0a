// The fence, tried from inside: native code in the process of a user's SQL reaches nothing but the snapshot.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { plainProgram } from "../../../../../src/core/program-files.ts";
import { filterFor, SYSCALLS } from "../../../../../src/warehouse/user-sql/fence/syscalls.ts";
import { offeredBox } from "../../../../../src/warehouse/user-sql/process-pool.ts";
import { tempDir } from "../../temp-dir.ts";
import { kernelCalls } from "./kernel-calls.ts";

const LAUNCHER = "src/warehouse/user-sql/fence/launcher";
const koffi = dirname(createRequire(import.meta.url).resolve("koffi"));

let dir: string;
let snapshot: string;
let secret: string;
beforeEach(() => {
  dir = tempDir();
  snapshot = join(dir, "warehouse.duckdb");
  secret = join(dir, "token");
  writeFileSync(snapshot, "rows");
  writeFileSync(secret, "not yours", { mode: 0o600 });
});

const LIMITS = { cpuSeconds: 1234, memoryBytes: 4_294_967_296 };

const launch = (readable: readonly string[] | null, argv: readonly string[]) =>
  spawnSync(process.execPath, [plainProgram(LAUNCHER).file, JSON.stringify({ limits: LIMITS, readable, argv })], {
    encoding: "utf8",
    env: { SECRET: "of the parent" },
    stdio: ["ignore", "pipe", "pipe", "ignore"],
    timeout: 120_000,
  });

test("inside the fence nothing can be reached but the snapshot, by Node or by raw system calls", () => {
  const program = join(mkdtempSync(join(dir, "program-")), "within.mjs");
  cpSync(join(import.meta.dirname, "within.mjs"), program);
  cpSync(join(koffi, "../@koromix"), join(dirname(program), "node_modules/@koromix"), { recursive: true });
  cpSync(koffi, join(dirname(program), "node_modules/koffi"), { recursive: true });
  const calls = Object.fromEntries(kernelCalls(process.arch === "arm64" ? "arm64" : "x64").forbidden);
  const places = { koffi: "koffi", snapshot, secret, folder: dir, parent: process.pid, calls };
  const before = statSync(secret);
  const run = launch([dirname(program), snapshot], [program, JSON.stringify(places)]);
  expect(run.stderr).toBe("");
  const outcomes: Record<string, string> = JSON.parse(run.stdout);
  const reached = Object.entries(outcomes).filter(
    ([, outcome]) => !/^(EACCES|EPERM|ENOSYS|ERR_DLOPEN_FAILED)$/.test(outcome),
  );
  expect(Object.keys(outcomes).length).toBeGreaterThan(90);
  expect(reached).toEqual([["read the snapshot", "done"]]);
  expect(statSync(secret)).toMatchObject({ mode: before.mode, mtimeMs: before.mtimeMs, uid: before.uid });
  expect(readFileSync(snapshot, "utf8")).toBe("rows");
});

test("nothing of the starting process is left: no environment, no descriptors", () => {
  const program = join(mkdtempSync(join(dir, "program-")), "left.mjs");
  const looks = `import { fstatSync, writeSync } from "node:fs";
    const open = Array.from({ length: 64 }, (_, fd) => fd).filter((fd) => { try { fstatSync(fd); return true; } catch { return false; } });
    writeSync(1, JSON.stringify({ env: process.env, sockets: open.filter((fd) => fd > 3 && fstatSync(fd).isSocket()) }));`;
  writeFileSync(program, looks);
  const run = launch([dirname(program)], [program]);
  expect(JSON.parse(run.stdout)).toEqual({ env: { OPENSSL_CONF: "/dev/null", TZ: "UTC" }, sockets: [] });
});

test("without a fence the program does not say that it is ready", () => {
  const forbidden = { files: ["/etc/passwd"], parent: process.pid, snapshot };
  const program = plainProgram("src/warehouse/user-sql/program").file;
  const run = spawnSync(process.execPath, [program, JSON.stringify(forbidden)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  expect(run.status).toBe(78);
  expect(run.output[3]).toBe("");
  expect(run.stderr).toMatch(/within reach: file \/etc\/passwd, environment of the parent, signals to the parent, TCP/);
});

test("this system offers the box", async () => {
  expect(await offeredBox()).toEqual({ level: "landlock", because: null });
});

test.each(["x64", "arm64"] as const)(
  "every number of a system call on %s is named once, and the filter fits",
  (architecture) => {
    const numbers = SYSCALLS.flatMap((syscall) => syscall[architecture] ?? []);
    expect(new Set(numbers).size).toBe(numbers.length);
    const instructions = filterFor(architecture, 1234).length / 8;
    expect(instructions).toBeLessThan(4096);
  },
);

test("without a fence, too, the kernel ends it first and limits processor time, memory, files and descriptors", () => {
  const program = join(dir, "limits.mjs");
  const looks = `import { readFileSync, writeSync } from "node:fs";
    writeSync(1, ["oom_score_adj", "limits"].map((name) => readFileSync("/proc/self/" + name, "utf8")).join(""));`;
  writeFileSync(program, looks);
  const { stdout } = launch(null, [program]);
  expect(stdout).toMatch(/^1000\n/);
  for (const limit of [
    /Max cpu time +1234 +1234 /,
    /Max file size +0 +0 /,
    /Max data size +4294967296 +4294967296 /,
    /Max core file size +0 +0 /,
    /Max open files +256 +256 /,
  ])
    expect(stdout).toMatch(limit);
});
