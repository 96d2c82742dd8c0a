// `duckmirror query --from`: read-only SQL on a lake.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import { cli } from "../support/cli.ts";
import { aFolder, catalogUrl, deliver, lakeSetting } from "./a-lake.ts";
import { commitSignals } from "./moving-mirror.ts";

const ask = (at: string, setting: string, ...argv: readonly string[]) =>
  cli(["query", "--from", "lake", ...argv], { cwd: at, env: { DUCKMIRROR_DESTINATIONS: setting } });

test("a lake answers in the output forms of the mirror, now and as it was; the analysts' views too", async () => {
  const dataDir = aFolder();
  const url = catalogUrl("sqlite");
  await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 3, seededRandom(1)));
  await deliver({ dataDir, url });
  const setting = lakeSetting(url);
  const sql =
    "SELECT id, date, headline, _extra, [date, NULL] AS dates, {'half': 0.5, 'big': 9007199254740993} AS s FROM signals ORDER BY id";
  const same = await cli(["query", "--data-dir", dataDir, "--json", sql], { cwd: dataDir });
  const lake = await ask(dataDir, setting, "--json", sql);
  expect(lake).toMatchObject({ code: 0, out: same.out });
  await change(dataDir, (warehouse) => commitSignals(warehouse, 4, 1, seededRandom(2)));
  await deliver({ dataDir, url });
  const versions = "SELECT max(snapshot_id) AS n FROM ducklake_snapshots('lake') WHERE author = 'duckmirror'";
  const last = Number((await ask(dataDir, setting, "--format", "csv", versions)).out.split("\r\n")[1]);
  const count = async (at: string) =>
    (await ask(dataDir, setting, "--format", "csv", `SELECT count(*) AS n FROM signals ${at}`)).out.split("\r\n")[1];
  expect([await count(`AT (VERSION => ${last - 1})`), await count("")]).toEqual(["3", "4"]);
  expect((await ask(dataDir, setting, "--format", "csv", "SELECT count(*) AS n FROM marts.signal_timeline")).out).toBe(
    "n\r\n4\r\n",
  );
});

/** Statements, and what becomes of them. */
const REFUSED = [
  ["USAGE", "DELETE FROM signals"],
  ["USAGE", "SELECT 1; SELECT 2"],
  ["USAGE", "FROM ducklake_cleanup_old_files('lake', cleanup_all => true)"],
  ["USAGE", "SET threads = 1"],
  ["QUERY_FAILED", "FROM read_text('/etc/passwd')"],
  ["QUERY_FAILED", "SELECT nothing FROM signals"],
] as const;

test("what writes, opens other files, or is no single SELECT is refused, and the lake stays as it is", async () => {
  const dataDir = aFolder();
  await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 1, seededRandom(1)));
  await deliver({ dataDir });
  const files = () => readdirSync(join(dataDir, "lake"), { recursive: true }).sort();
  const before = files();
  for (const [code, sql] of REFUSED) {
    const { out, err } = await ask(dataDir, lakeSetting(catalogUrl("sqlite")), sql);
    expect(`${out}${err}`, sql).toContain(code);
  }
  expect(files()).toEqual(before);
});

test("an unknown name, a lake that is not there, a missing extension: errors that say what to do; nothing is made", async () => {
  const at = aFolder();
  const saidTo = async (setting: string, ...argv: readonly string[]) => {
    const { out, err } = await ask(at, setting, ...argv, "SELECT 1");
    return `${out}${err}`;
  };
  const setting = lakeSetting(catalogUrl("duckdb"));
  expect(await saidTo(setting, "--from", "lagoon")).toContain("DESTINATION_UNKNOWN");
  expect(await saidTo(setting)).toContain("DESTINATION_AWAY");
  expect(existsSync(join(at, "lake"))).toBe(false);
  const missing = await saidTo(lakeSetting(catalogUrl("sqlite"), { extension_directory: at }));
  expect(missing).toContain("EXTENSION_MISSING");
  expect(missing).toContain("pip download");
});
