// Files that users name: links and pipes are read; what never ends or never begins fails instead of keeping the process.
import { execFileSync, spawn } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readGiven } from "../../../../src/core/files/given-files.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

test("a link is followed, as Kubernetes mounts secrets", () => {
  const dir = tempDir();
  writeFileSync(join(dir, "file"), "secret\n");
  symlinkSync(join(dir, "file"), join(dir, "link"));
  expect(readGiven(join(dir, "link"))).toBe("secret\n");
});

test("a pipe is read to its end", () => {
  const pipe = join(tempDir(), "pipe");
  execFileSync("mkfifo", [pipe]);
  spawn("sh", ["-c", 'printf "%09000d" 7 >"$1"', "sh", pipe], { stdio: "ignore" });
  expect(readGiven(pipe)).toBe("7".padStart(9000, "0"));
});

test("a pipe that nobody writes to, and a file without an end, are refused", () => {
  const pipe = join(tempDir(), "pipe");
  execFileSync("mkfifo", [pipe]);
  expect(() => readGiven(pipe)).toThrow("nobody writes to this pipe");
  expect(() => readGiven("/dev/zero", 1000)).toThrow("it holds more than 1000 bytes");
  expect(readGiven("/dev/null")).toBe("");
});
