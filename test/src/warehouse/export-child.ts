// A process of its own that changes a snapshot and exports it, over and over, until it is killed. Version n of the
// snapshot says `v<n>` in every row and holds one signal in each of twelve months, and in one more that moves.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { exportSnapshot } from "../../../src/warehouse/export/export.ts";
import { migrate } from "../../../src/warehouse/file/migrate.ts";

const [root = "", first = "0"] = process.argv.slice(2);
const snapshot = join(root, "warehouse.duckdb");
const dir = join(root, "export");
const say = (line: string) => new Promise<void>((resolve) => process.stdout.write(`${line}\n`, () => resolve()));

// What a kill left half made is made again: the snapshot's own atomicity is tried elsewhere.
for (const file of [snapshot, `${snapshot}.wal`]) await rm(file, { force: true });
const fresh = await openDatabase(snapshot, { threads: 1 });
await migrate(fresh, 0);
await fresh.close();
await say("open");
for (let n = Number(first); ; n++) {
  const database = await openDatabase(snapshot, { threads: 1 });
  await database.run(`BEGIN; DELETE FROM main.signals; DELETE FROM main.accounts;
    INSERT INTO main.signals (id, headline, date, _run_id)
      SELECT i, 'v${n}', make_timestamptz(2024, i + 1, 5, 0, 0, 0, 'UTC'), 'r${n}' FROM range(12) t(i);
    INSERT INTO main.signals (id, headline, date, _run_id) VALUES (99, 'v${n}', make_timestamptz(${2030 + (n % 3)}, 1, 1, 0, 0, 0, 'UTC'), 'r${n}');
    INSERT INTO main.accounts (id, name, _run_id) SELECT i, 'v${n}', 'r${n}' FROM range(50) t(i);
    COMMIT;`);
  await database.close();
  await say(`exporting ${n}`);
  await exportSnapshot({
    snapshot,
    dir,
    format: "parquet",
    tables: ["signals", "accounts"],
    since: null,
    guardFormulas: false,
  });
  await say(String(n));
}
