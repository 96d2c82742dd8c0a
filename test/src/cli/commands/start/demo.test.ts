// duckmirror demo: where it writes, and what it says when it cannot.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aFolder, cli } from "../../../../support/cli.ts";

test("a complete mirror in the data directory of the environment, made anew by the next demo", async () => {
  const dir = aFolder();
  const env = { DUCKMIRROR_DATA_DIR: dir };
  const { code, out } = await cli(["demo", "--accounts", "2", "--json"], { cwd: dir, env });
  expect([code, JSON.parse(out).status]).toEqual([0, "done"]);
  expect(existsSync(join(dir, "demo", "warehouse.duckdb"))).toBe(true);
  expect((await cli(["demo", "--accounts", "2", "--quiet"], { cwd: dir, env })).code).toBe(0);
});

test("somebody's mirror is not overwritten", async () => {
  const dir = aFolder();
  mkdirSync(join(dir, "state"));
  const { code, err } = await cli(["demo", "--data-dir", dir], { cwd: dir });
  expect([code, err]).toEqual([2, expect.stringContaining("not the demo's")]);
});

test("a directory that cannot be made is named with what to do", async () => {
  const dir = aFolder();
  writeFileSync(join(dir, "taken"), "");
  const { code, err } = await cli(["demo", "--data-dir", join(dir, "taken", "demo")], { cwd: dir });
  expect([code, err]).toEqual([2, expect.stringMatching(/DATA_DIR_UNWRITABLE[\s\S]*hint/)]);
});
