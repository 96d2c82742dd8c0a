// Whether the mirror holds values that were stored before a rule of today existed.
import { expect, test } from "vitest";
import { holdsOlderValues, noteRules, settleRules } from "../../../../../src/warehouse/file/baseline/baseline.ts";
import { tempDir } from "../../temp-dir.ts";

test("a new mirror has none, whatever its rules", async () => {
  const state = tempDir();
  expect(await noteRules(state, ["exclude a"], true)).toBe(false);
  expect(await holdsOlderValues(state, ["exclude a"])).toBe(false);
});

test("a rule that comes later leaves older values, until the mirror is rebuilt", async () => {
  const state = tempDir();
  await noteRules(state, ["exclude a"], true);
  expect(await noteRules(state, ["exclude a", "hash b"], false)).toBe(true);
  expect(await holdsOlderValues(state, ["exclude a", "hash b"])).toBe(true);
  // Once mixed, taking a rule back does not unmix what was stored.
  expect(await noteRules(state, ["exclude a"], false)).toBe(true);
  await settleRules(state, ["exclude a"]);
  expect(await noteRules(state, ["exclude a"], false)).toBe(false);
  expect(await holdsOlderValues(state, ["exclude a"])).toBe(false);
  expect(await holdsOlderValues(state, ["exclude a", "hash b"])).toBe(true);
});

test("a rule that goes leaves nothing behind that it would keep out", async () => {
  const state = tempDir();
  await noteRules(state, ["exclude a", "hash b"], true);
  expect(await noteRules(state, ["hash b"], false)).toBe(false);
});

test("of a mirror from before the rules were noted nothing is known", async () => {
  expect(await noteRules(tempDir(), ["exclude a"], false)).toBe(true);
  expect(await noteRules(tempDir(), [], false)).toBe(false);
  expect(await holdsOlderValues(tempDir(), ["exclude a"])).toBe(true);
});
