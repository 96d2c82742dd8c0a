// The flags that delay V8's optimizing compilers. V8 writes a line to standard error for a flag that it does not know.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { compilerFlags } from "../../../src/cli/recorded-job.ts";

const complaint = (flags: readonly string[]): string => {
  const code = flags.map((flag) => `require("node:v8").setFlagsFromString("${flag}");`).join("");
  return spawnSync(process.execPath, ["-e", code], { encoding: "utf8" }).stderr;
};

test("this V8 knows the flags, and complains about the name of other versions", () => {
  expect(complaint(compilerFlags(process.versions.v8))).toBe("");
  const [other = ""] = compilerFlags(Number.parseInt(process.versions.v8, 10) < 12 ? "12.4.254" : "11.3.244");
  expect(complaint([other])).toContain(`unrecognized flag ${other}`);
});

test("V8 from 12 on has another name for the first", () => {
  expect(compilerFlags("11.3.244.8-node.33")[0]).toMatch(/^--interrupt-budget=\d+$/);
  expect(compilerFlags("12.4.254.21-node.33")[0]).toMatch(/^--invocation-count-for-turbofan=\d+$/);
  expect(compilerFlags("14.6.202.34-node.34")[0]).toMatch(/^--invocation-count-for-turbofan=\d+$/);
});
