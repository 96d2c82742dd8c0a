// Deliveries to lakes: after each, and after any kill, the lake equals a published snapshot exactly.
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import { forFile } from "../support/for-file.ts";
import { startPostgres } from "../support/postgres.ts";
import { aFolder, type Catalog, catalogUrl, deliver, differences, ownLayout, report, withReader } from "./a-lake.ts";
import { addContacts, erase } from "./erasing.ts";
import { commitSignals, DIGITS, move } from "./moving-mirror.ts";
import { catalogIn } from "./read-postgres.ts";

const postgres = await forFile(startPostgres());

const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8", withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

test.each<Catalog | "postgres">(["sqlite", "duckdb", "postgres"])(
  "%s: a first load, changes with deletes, erased contacts, feeds that begin anew",
  async (catalog) => {
    const [dataDir, at] = [aFolder(), aFolder()];
    const url = catalog === "postgres" ? catalogIn(postgres.url) : catalogUrl(catalog);
    const settings = catalog === "postgres" ? { data_path: "files" } : {};
    const random = seededRandom(7);
    for (let step = 0; step < 7; step += 1) {
      await move(dataDir, random);
      await deliver({ dataDir, at, url, settings });
      expect(await differences(dataDir, at, url)).toEqual({});
    }
  },
);

test("one snapshot per delivery, of the changed rows only, with the run; the one before can still be read", async () => {
  const dataDir = aFolder();
  await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 1_000, seededRandom(1)));
  const first = await deliver({ dataDir });
  expect(first).toMatchObject({ from: null });
  expect(first.tables.find(({ table }) => table === "signals")).toMatchObject({ extent: "whole", written: 1_000 });
  expect(await deliver({ dataDir })).toMatchObject({ tables: [] });
  await change(dataDir, async (warehouse) => {
    await commitSignals(warehouse, 995, 10, seededRandom(2));
    await warehouse.deleteKeys({ table: "signals", ids: ["1", "2"], runId: "r", now: Date.now() });
  });
  const second = await deliver({ dataDir });
  const signals = second.tables.find(({ table }) => table === "signals");
  expect(signals).toMatchObject({ extent: "changes", deleted: 2 });
  expect(signals?.written).toBeLessThanOrEqual(10);
  await withReader(dataDir, async (run) => {
    const snapshots = await run("FROM ducklake_snapshots('lake') WHERE author = 'duckmirror' ORDER BY snapshot_id");
    expect(snapshots).toHaveLength(2);
    const [before, after] = snapshots;
    expect(JSON.parse(String(after?.commit_extra_info))).toMatchObject({
      change: second.to.n,
      mirror: second.to.mirror,
    });
    const [changes] = await run(`SELECT count(*) AS n, count(DISTINCT rowid) AS keys
      FROM ducklake_table_changes('lake', 'main', 'signals', ${after?.snapshot_id}, ${after?.snapshot_id})`);
    expect(Number(changes?.n)).toBeLessThanOrEqual(22);
    const count = async (at: string) => Number((await run(`SELECT count(*) AS n FROM lake.main.signals ${at}`))[0]?.n);
    expect(await count(`AT (VERSION => ${before?.snapshot_id})`)).toBe(1_000);
    expect(await count("")).toBe(1_002);
    expect(await run("SELECT value, scope FROM lake.options() WHERE option_name = 'parquet_compression'")).toEqual([
      { value: "zstd", scope: "GLOBAL" },
    ]);
  });
});

test("tables are divided by month and carry comments; the analysts' views that need no history answer in the lake", async () => {
  const dataDir = aFolder();
  await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 50, seededRandom(3)));
  await deliver({ dataDir, settings: { data_path: "files" } });
  expect(filesOf(join(dataDir, "files/main/signals")).every((file) => /year=\d+\/month=\d+/.test(file))).toBe(true);
  await withReader(dataDir, async (run) => {
    const [table] = await run(
      "SELECT comment FROM duckdb_tables() WHERE database_name = 'lake' AND table_name = 'signals'",
    );
    expect(table?.comment).toBe("One row per business event.");
    const [extra] = await run(
      "SELECT _extra::VARCHAR AS text FROM lake.main.signals WHERE _extra::VARCHAR LIKE '%fractions%' LIMIT 1",
    );
    for (const digits of DIGITS) expect(extra?.text).toContain(digits);
    const views = await run("SELECT view_name FROM duckdb_views() WHERE database_name = 'lake' ORDER BY 1");
    const names = views.map(({ view_name: name }) => name);
    expect(names).toEqual(expect.arrayContaining(["funding_events", "signal_timeline", "signals_daily"]));
    for (const name of ["account_360", "score_history"]) expect(names).not.toContain(name);
    await run("USE lake");
    for (const name of names) await run(`SELECT count(*) FROM marts.${name}`);
    expect(await run("SELECT count(*) AS n FROM marts.signal_timeline")).toEqual([{ n: "50" }]);
  });
});

test("a column that the mirror gains is added and filled", async () => {
  const dataDir = aFolder();
  await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 20, seededRandom(4)));
  await deliver({ dataDir });
  await change(dataDir, ({ database }) =>
    database.run("ALTER TABLE main.signals ADD COLUMN later VARCHAR; UPDATE main.signals SET later = 'x'"),
  );
  await deliver({ dataDir });
  expect(await differences(dataDir, dataDir)).toEqual({});
});

test("mirrors in schemas of one lake do not touch each other; a schema of another mirror, or with other tables, is refused", async () => {
  const [one, two] = [aFolder(), aFolder()];
  for (const [dataDir, count] of [
    [one, 10],
    [two, 20],
  ] as const) {
    await change(dataDir, (warehouse) => commitSignals(warehouse, 1, count, seededRandom(count)));
  }
  await deliver({ dataDir: one, at: one, settings: { schema: "acme" } });
  const refused = await report({ dataDir: two, at: one, settings: { schema: "acme" } });
  expect(refused.error).toMatchObject({ code: "DESTINATION_OTHER_MIRROR" });
  await deliver({ dataDir: two, at: one, settings: { schema: "globex" } });
  expect(await differences(one, one, catalogUrl("sqlite"), "acme")).toEqual({});
  expect(await differences(two, one, catalogUrl("sqlite"), "globex")).toEqual({});
  await deliver({ dataDir: two, at: one, settings: { schema: "acme" }, takeOver: true });
  expect(await differences(two, one, catalogUrl("sqlite"), "acme")).toEqual({});
});

test("values of an erased contact are in no file of the lake and in no statistics of its catalog", async () => {
  const dataDir = aFolder();
  const at = aFolder();
  await addContacts(dataDir, ["contact-1", "contact-2", "contact-3"]);
  await deliver({ dataDir, at });
  await addContacts(dataDir, ["contact-4"]);
  await deliver({ dataDir, at });
  await erase(dataDir, "contact-1");
  await deliver({ dataDir, at });
  expect(await differences(dataDir, at)).toEqual({});
  await withReader(at, async (run) => {
    expect(await run("SELECT count(*) AS n FROM lake.main.contacts")).toEqual([{ n: "3" }]);
    // What the cleaning itself made.
    expect((await run("FROM ducklake_snapshots('lake')")).length).toBeLessThanOrEqual(2);
    for (const { path } of await run(`SELECT file AS path FROM glob('${at}/lake/**/*.parquet')`)) {
      const rows = JSON.stringify(await run(`FROM read_parquet('${path}')`));
      expect(rows).not.toContain("contact-1@example.com");
    }
    const [meta] = await run(
      "SELECT count(*) AS n FROM __ducklake_metadata_lake.ducklake_table_column_stats WHERE min_value LIKE 'contact-1%'",
    );
    expect(meta).toEqual({ n: "0" });
  });
});

test("a cleaning that is due merges small files, removes old snapshots, and files that a killed delivery left", async () => {
  const dataDir = aFolder();
  const settings = { keep_snapshots: "0s", maintain_every: "24h" };
  for (let step = 0; step < 4; step += 1) {
    await change(dataDir, (warehouse) => commitSignals(warehouse, 1 + step * 10, 10, seededRandom(step)));
    await deliver({ dataDir, settings });
  }
  const left = join(dataDir, "lake/catalog.sqlite.files/main/signals/left.parquet");
  writeFileSync(left, "half");
  const twoDaysAgo = new Date(Date.now() - 48 * 3_600_000);
  utimesSync(left, twoDaysAgo, twoDaysAgo);
  const counts = () =>
    withReader(dataDir, async (run) => {
      const [files] = await run("SELECT count(*) AS n FROM ducklake_list_files('lake', 'signals')");
      const [snapshots] = await run("SELECT count(*) AS n FROM ducklake_snapshots('lake')");
      return { files: Number(files?.n), snapshots: Number(snapshots?.n) };
    });
  const before = await counts();
  expect(before.snapshots).toBeGreaterThanOrEqual(4);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 25 * 3_600_000 });
  try {
    expect(await deliver({ dataDir, settings })).toMatchObject({ tables: [] });
  } finally {
    vi.useRealTimers();
  }
  const after = await counts();
  expect(after.files).toBeLessThan(before.files);
  // The newest, and what the cleaning itself wrote.
  expect(after.snapshots).toBeLessThanOrEqual(4);
  expect(existsSync(left)).toBe(false);
  // The clock was wrong, and is right again.
  await deliver({ dataDir, settings });
  const [state] = await withReader(dataDir, (run) => run("SELECT maintained_ms FROM lake.main._duckmirror"));
  expect(Number(state?.maintained_ms)).toBeLessThanOrEqual(Date.now());
  expect(await differences(dataDir, dataDir)).toEqual({});
});

test("extensions load from DuckDB's own layout too", async () => {
  const dataDir = aFolder();
  await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 1, seededRandom(5)));
  const extension_directory = await ownLayout(aFolder());
  await deliver({ dataDir, settings: { extension_directory } });
  expect(await differences(dataDir, dataDir)).toEqual({});
  expect(readFileSync(join(dataDir, "lake/catalog.sqlite")).length).toBeGreaterThan(0);
});
