// Measures what readers wait for: every view and every question of sql/queries on a generated mirror, and an export
// of a large table before and after a small change. Run: npx tsx bench/marts-and-export.ts [accounts] [signals]
// Five rounds each, views and questions in turns; medians and maxima in ms.
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VIEW_NAMES } from "../src/catalog/tables.ts";
import { openWorld } from "../src/sandbox/sandbox.ts";
import { openDatabase } from "../src/warehouse/duckdb/database.ts";
import { exportSnapshot } from "../src/warehouse/export/export.ts";
import { migrate } from "../src/warehouse/file/migrate.ts";
import { applyViews } from "../src/warehouse/file/views.ts";
import { runQuery } from "../src/warehouse/read/query.ts";

const ROUNDS = 5;
const [accounts = 40, signals = 1_000_000] = process.argv.slice(2).map(Number);
const say = (line: string) => process.stdout.write(`${line}\n`);

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

const readers = async (dir: string) => {
  const now = Date.now();
  const world = await openWorld({ seed: 1, accounts, now, bigIds: false, dir });
  await applyViews(world.database, now);
  await world.close();
  const snapshot = join(dir, "warehouse.duckdb");
  renameSync(join(dir, "sandbox.duckdb"), snapshot);
  const folder = new URL("../sql/queries/", import.meta.url);
  const questions = readdirSync(folder).map((name) => ({ name, sql: readFileSync(new URL(name, folder), "utf8") }));
  const views = VIEW_NAMES.map((name) => ({ name: `marts.${name}`, sql: `SELECT * FROM marts.${name}` }));
  const measured = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, sql } of [...views, ...questions]) {
      // Opening the snapshot counts: that is what `duckmirror query` does.
      const ms = await timed(() => runQuery({ snapshot, sql }));
      measured.set(name, [...(measured.get(name) ?? []), ms]);
    }
  }
  say(`${accounts} accounts: median and maximum in ms, opening the snapshot included`);
  for (const [name, all] of measured) {
    const sorted = [...all].sort((left, right) => left - right);
    say(
      `  ${name.padEnd(32)} ${(sorted[ROUNDS >> 1] ?? 0).toFixed(0).padStart(6)} ${(sorted.at(-1) ?? 0).toFixed(0).padStart(6)}`,
    );
  }
};

const exports = async (dir: string) => {
  const snapshot = join(dir, "large.duckdb");
  const change = async (sql: string) => {
    const database = await openDatabase(snapshot);
    await database.run(sql);
    await database.close();
  };
  const database = await openDatabase(snapshot);
  await migrate(database, 0);
  await database.close();
  // Two years of events, ids growing with time, texts of some hundred characters.
  await change(`INSERT INTO main.signals (id, account_id, type, headline, description, date, created_at, updated_at, _synced_at, _run_id)
    SELECT i, hash(i) % 5000, 'podcast', md5(i::VARCHAR), repeat(md5((i * 7)::VARCHAR), 8),
      TIMESTAMPTZ '2023-01-01 00:00:00+00' + to_seconds(CAST(i * (63072000 / ${signals}) AS BIGINT)), now(), now(), now(), 'r1'
    FROM range(${signals}) t(i)`);
  const run = (tables: readonly string[]) =>
    exportSnapshot({
      snapshot,
      dir: join(dir, "export"),
      format: "parquet",
      tables,
      since: null,
      guardFormulas: false,
    });
  const report = async (what: string) => {
    let line = "";
    const ms = await timed(async () => {
      const { written, kept, bytes, bytesWritten } = await run(["signals"]);
      line = `${written} files written, ${kept} kept, ${((100 * bytesWritten) / bytes).toFixed(2)}% of ${(bytes / 2 ** 20).toFixed(1)} MiB`;
    });
    say(`  ${what.padEnd(44)} ${ms.toFixed(0).padStart(6)} ms  ${line}`);
  };
  say(`export of ${signals} signals in 24 months`);
  await report("first");
  await report("nothing changed");
  await change(
    `UPDATE main.signals SET headline = 'new', _synced_at = now(), _run_id = 'r2' WHERE id >= ${signals} - ${signals / 1000}`,
  );
  await report("0.1% changed, the newest");
  await change(
    `UPDATE main.signals SET headline = 'newer', _synced_at = now(), _run_id = 'r3' WHERE hash(id) % 1000 = 0`,
  );
  await report("0.1% changed, all over two years");
};

const dir = mkdtempSync(join(tmpdir(), "duckmirror-bench-"));
try {
  await readers(dir);
  await exports(dir);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
