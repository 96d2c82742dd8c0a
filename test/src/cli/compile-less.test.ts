// The flag that delays V8's optimizing compiler. V8 writes a line to standard error for a flag that it does not know.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { compilerFlag } from "../../../src/cli/compile-less.ts";

const complaint = (flag: string): string => {
  const code = `require("node:v8").setFlagsFromString("${flag}")`;
  return spawnSync(process.execPath, ["-e", code], { encoding: "utf8" }).stderr;
};

test("this V8 knows the flag, and complains about the name of other versions", () => {
  expect(complaint(compilerFlag(process.versions.v8))).toBe("");
  const other = compilerFlag(Number.parseInt(process.versions.v8, 10) < 12 ? "12.4.254" : "11.3.244");
  expect(complaint(other)).toContain(`unrecognized flag ${other}`);
});

test("V8 from 12 on has another name for it", () => {
  expect(compilerFlag("11.3.244.8-node.33")).toMatch(/^--interrupt-budget=\d+$/);
  expect(compilerFlag("12.4.254.21-node.33")).toMatch(/^--invocation-count-for-turbofan=\d+$/);
  expect(compilerFlag("14.6.202.34-node.34")).toMatch(/^--invocation-count-for-turbofan=\d+$/);
});
