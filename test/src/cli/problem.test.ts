// How a failure is shown.
import { readFileSync } from "node:fs";
import { CommanderError } from "commander";
import pc from "picocolors";
import { expect, test } from "vitest";
import { asProblem, problemJson, withError, writeProblem } from "../../../src/cli/problem.ts";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import { errorAddress } from "../../../src/core/program-files.ts";
import { createScrubber } from "../../../src/core/secret.ts";

const SECRET = "hush-hush-hush";
const scrubber = createScrubber();
scrubber.hide(SECRET);

const written = (problem: DuckmirrorError, verbose = false): string => {
  const texts: string[] = [];
  const terminal = { errColours: pc.createColors(false), err: (text: string) => void texts.push(text) };
  writeProblem(problem, { terminal, scrubber, invocation: "npx duckmirror" }, verbose);
  return texts.join("");
};

test("a hint names commands in the form in which the program was started", () => {
  const hint = written(new DuckmirrorError("SNAPSHOT_MISSING", { file: "x" }));
  expect(hint).toContain("Run `npx duckmirror sync` first");
});

test("a failure of this program stays as it is, a wrong option is a usage error on one line", () => {
  const own = new DuckmirrorError("INTERRUPTED");
  expect(asProblem(own)).toBe(own);
  const typed = new CommanderError(1, "x", "error: unknown option '--x'\n(Did you mean --y?)");
  expect(asProblem(typed)).toMatchObject({
    code: "USAGE",
    context: { detail: "unknown option '--x' (Did you mean --y?)" },
  });
});

test("a data directory that is a file is no fault of the program", () => {
  const { code, message, exitCode } = asProblem(
    Object.assign(new Error("ENOTDIR: not a directory, stat '/etc/passwd/warehouse.duckdb'"), {
      code: "ENOTDIR",
      path: "/etc/passwd/warehouse.duckdb",
    }),
  );
  expect([code, exitCode]).toEqual(["FILE_REFUSED", 2]);
  expect(message).toContain("/etc/passwd/warehouse.duckdb");
});

test("anything else is unexpected, with what was thrown as its cause", () => {
  const thrown = new TypeError("x is undefined");
  expect(asProblem(thrown)).toMatchObject({ code: "UNEXPECTED", cause: thrown });
  expect(asProblem("a text")).toMatchObject({ code: "UNEXPECTED" });
});

test("people see code, message and hint; stacks only on request", () => {
  const problem = new DuckmirrorError("DISK_FULL", { detail: "no space" }, { cause: new Error("ENOSPC") });
  expect(written(problem)).toMatch(
    /^error DISK_FULL: The disk is full: no space\nhint: .+\nmore: file:.+docs\/ERRORS\.md#disk_full\n$/,
  );
  expect(written(problem)).not.toContain("ENOSPC");
  expect(written(problem, true)).toContain("Error: ENOSPC");
});

test("neither a secret nor a sign that steers the terminal is shown", () => {
  const problem = new DuckmirrorError("DISK_FULL", { detail: `${SECRET}\u001b[2J` });
  expect(written(problem, true)).not.toMatch(new RegExp(`${SECRET}|\\u001b`));
  expect(JSON.stringify(problemJson(problem, scrubber))).not.toContain(SECRET);
  expect(problemJson(problem, scrubber).error.code).toBe("DISK_FULL");
});

const systemError = (code: string, more: object) => Object.assign(new Error(`${code}: refused`), { code, ...more });

test.each(["EACCES", "EPERM", "EROFS", "EBUSY"])(
  "a file that this user may not use (%s) is no fault of duckmirror",
  (code) => {
    const problem = asProblem(systemError(code, { path: "/data/warehouse.duckdb", syscall: "stat" }));
    expect(problem).toMatchObject({ code: "FILE_REFUSED", exitCode: 2 });
  },
);

test("another system error is unexpected", () => {
  expect(asProblem(systemError("EACCES", { port: 80 })).code).toBe("UNEXPECTED");
  expect(asProblem(systemError("EBADF", { path: "/data" })).code).toBe("UNEXPECTED");
});

test("a result carries the error with which its command ended, without a secret, and else nothing", () => {
  const result = { run_id: "r" };
  expect(withError(result, null, scrubber)).toEqual(result);
  const problem = new DuckmirrorError("DISK_FULL", { detail: SECRET });
  expect(withError(result, problem, scrubber)).toMatchObject({ run_id: "r", error: { code: "DISK_FULL" } });
  expect(JSON.stringify(withError(result, problem, scrubber))).not.toContain(SECRET);
});

test("an error has an address: on the site that the manifest names, else in the file of the package", () => {
  expect(errorAddress("DISK_FULL", { homepage: "https://docs.example/duckmirror/" })).toBe(
    "https://docs.example/duckmirror/ERRORS#disk_full",
  );
  const file = new URL(errorAddress("DISK_FULL", {}) ?? "");
  expect(readFileSync(file, "utf8")).toContain(`\n### ${file.hash.slice(1).toUpperCase()}\n`);
});
