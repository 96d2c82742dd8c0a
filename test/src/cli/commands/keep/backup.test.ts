// duckmirror backup and restore, as typed on the command line.
import { join } from "node:path";
import { expect, test } from "vitest";
import { startSandbox } from "../../../../../src/sandbox/sandbox.ts";
import { afterTest } from "../../../../support/after-test.ts";
import { aContactsMirror, aFolder, cli } from "../../../../support/cli.ts";

const COUNT = "select count(*)::int as n from contacts";

test("a backup in a folder becomes a mirror again", async () => {
  const sandbox = await startSandbox({ seed: 5, accounts: 6, plan: "enterprise", threads: 1 });
  afterTest(() => sandbox.close());
  const { env } = await aContactsMirror(sandbox);
  const cwd = aFolder();
  const before = await cli(["query", COUNT, "--json"], { cwd, env });
  const backup = await cli(["backup", "copy", "--json"], { cwd, env });
  expect([backup.code, JSON.parse(backup.out)]).toMatchObject([0, { backup: join(cwd, "copy") }]);
  const there = { cwd, env: { ...env, DUCKMIRROR_DATA_DIR: join(cwd, "again") } };
  const restore = await cli(["restore", "copy", "--json"], there);
  expect([restore.code, restore.err]).toEqual([0, ""]);
  expect((await cli(["query", COUNT, "--json"], there)).out).toBe(before.out);
});

test.each(["backup", "restore"])("%s without a folder is a usage error", async (command) => {
  const { code, err } = await cli([command], { cwd: aFolder() });
  expect([code, err]).toEqual([2, expect.stringMatching(/target|source/)]);
});
