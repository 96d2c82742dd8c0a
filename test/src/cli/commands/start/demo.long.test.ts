// duckmirror demo: what it shows, when it ends, where it writes, and what it says when it cannot.

import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { afterTest } from "../../../../support/after-test.ts";
import { aFolder, type CliRun, cli } from "../../../../support/cli.ts";

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

test("the second sync brings changes: history, moved scores, and the commands that show them", async () => {
  const dir = aFolder();
  const { code, out, err } = await cli(["demo", "--accounts", "5"], { cwd: dir });
  expect(code).toBe(0);
  expect(err).toContain("The service changed");
  expect(out.match(/The mirror is complete\./g)).toHaveLength(2);
  expect(out).toMatch(/Whose score moved between the two syncs\n.*\n│ account.*\n.*\n│ \w/);
  expect(out).toContain("  duckmirror changes --data-dir data/demo");
  const sql = `SELECT (SELECT count(*) FROM history.accounts) AS versions,
    (SELECT count(*) FROM marts.account_360 WHERE score_change <> 0) AS moved`;
  const asked = await cli(["query", "--data-dir", join(dir, "data", "demo"), "--format", "json", sql], { cwd: dir });
  const [figures] = JSON.parse(asked.out);
  expect(figures.versions).toBeGreaterThan(0);
  expect(figures.moved).toBeGreaterThan(0);
  const changes = await cli(["changes", "--data-dir", "data/demo", "--tables", "accounts"], { cwd: dir });
  expect(changes.out).toMatch(/ update +accounts /);

  // Windows takes each name of a file, also of an export, and no two differ in case only.
  expect((await cli(["export", "--data-dir", "data/demo", "--quiet"], { cwd: dir })).code).toBe(0);
  const paths = readdirSync(join(dir, "data"), { recursive: true, encoding: "utf8" });
  expect(paths.length).toBeGreaterThan(50);
  const forbidden = /[<>:"|?*\\]|[. ](?:\/|$)|(?:^|\/)(?:con|prn|aux|nul|com\d|lpt\d)(?:[./]|$)/i;
  expect(paths.filter((path) => forbidden.test(path))).toEqual([]);
  expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(paths.length);
});

test("on a terminal it serves the page until Ctrl-C, on a free port if the usual one is taken", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  afterTest(() => void taken.close());
  await once(taken, "listening");
  const usual = z.object({ port: z.number() }).parse(taken.address()).port;
  const stop = new AbortController();
  let running: Promise<CliRun> | undefined;
  const url = await new Promise<string>((resolve) => {
    running = cli(["demo", "--accounts", "2"], {
      cwd: aFolder(),
      env: { DUCKMIRROR_LISTEN: `127.0.0.1:${usual}` },
      answers: [],
      signal: stop.signal,
      onOut: (text) => {
        const [, address] = /The page of this mirror\n(http:\S+)\n/.exec(text) ?? [];
        if (address !== undefined) resolve(address);
      },
    });
  });
  expect(new URL(url).port).not.toBe(String(usual));
  expect(await (await fetch(`${url}/api/status`)).text()).toContain('"accounts"');
  stop.abort(new Error("Ctrl-C"));
  expect((await running)?.code).toBe(0);
});

test("with --no-serve it ends after the tour, also on a terminal", async () => {
  const { code, out } = await cli(["demo", "--accounts", "2", "--no-serve"], { cwd: aFolder(), answers: [] });
  expect([code, out]).toEqual([0, expect.not.stringContaining("http://")]);
});
