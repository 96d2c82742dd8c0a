// The past equals what readers had: copies of the snapshot of a mirror whose service moves, whose syncs are killed and whose
// clock jumps back and forth, against `as_of` of the last snapshot. AS_OF_SEED repeats a run, AS_OF_MOMENTS=100 takes
// more copies. Shows P25.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { z } from "zod";
import { TABLE_NAMES, type TableName, tableSpec } from "../../src/catalog/tables.ts";
import { quoted } from "../../src/core/text/sql-text.ts";
import { type Database, openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { aSandbox, FAST, startBuilt, syncEnv } from "../acceptance/built-cli.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { seededRandom } from "../support/chance.ts";

const SEED = Number(process.env.AS_OF_SEED ?? 47);
const MOMENTS = Number(process.env.AS_OF_MOMENTS ?? 10);
const HOUR_MS = 3_600_000;
const SHIFT = fileURLToPath(new URL("./shifted-clock.mjs", import.meta.url));

const sandbox = await aSandbox({ seed: SEED, accounts: 6, maxPerPage: 100, latencyMs: "0-4" });
let onRequest: () => void = () => undefined;
sandbox.intercept((_request, next) => {
  onRequest();
  return next();
});

/** One sync with a clock that is wrong by `shiftMs`; `killAt`: kill -9 some time after this request. */
const sync = async (dataDir: string, shiftMs: number, isFull: boolean, killAt: number, random: () => number) => {
  const run = startBuilt(["sync", "-q", ...(isFull ? ["--full"] : [])], {
    ...syncEnv(sandbox, dataDir),
    ...FAST,
    NODE_OPTIONS: `--import ${SHIFT}`,
    SHIFT_MS: String(shiftMs),
  });
  let left = killAt;
  onRequest = () => {
    left -= 1;
    if (left === 0) setTimeout(() => run.child.kill("SIGKILL"), Math.floor(random() * 300));
  };
  const { code, err } = await run.ended;
  onRequest = () => undefined;
  expect([0, null], err).toContain(code);
  return code === null;
};

const factsRow = z.object({ last: z.number(), moment: z.string(), changes: z.number() });
const sumRow = z.object({ n: z.number(), sum: z.string().nullable() });

/** Number of the last change in a snapshot, and when it happened, as the snapshot says. */
const lastChangeOf = async (database: Database, schema: string) => {
  const [facts] = await database.query(
    `SELECT max(last_n) AS last, CAST(max("at") AS VARCHAR) AS moment, count(*) AS changes FROM ${schema}.sync.change_batches`,
    [],
    factsRow,
  );
  if (facts === undefined) throw new Error("a snapshot without changes");
  return facts;
};

const sumOf = async (database: Database, table: TableName, source: string) => {
  const own = ["_first_synced_at", "_synced_at", "_run_id", "_extra"];
  const columns = [...tableSpec(table).fields.map(({ column }) => column), ...own].map(quoted).join(", ");
  const sql = `SELECT count(*) AS n, CAST(bit_xor(hash(${columns})) AS VARCHAR) AS sum FROM ${source}`;
  return (await database.query(sql, [], sumRow))[0];
};

test(
  `as_of equals ${MOMENTS} copies of the snapshot, for every table (seed ${SEED})`,
  async () => {
    process.stdout.write(`as-of: AS_OF_SEED=${SEED} AS_OF_MOMENTS=${MOMENTS}\n`);
    const random = seededRandom(SEED);
    const dataDir = tempFolder();
    const folder = tempFolder();
    const snapshot = join(dataDir, "warehouse.duckdb");
    const copies: string[] = [];
    const tally = { kills: 0, backwards: 0 };
    let shiftMs = 0;
    await sync(dataDir, shiftMs, false, 0, random);
    while (copies.length < MOMENTS) {
      copyFileSync(snapshot, join(folder, `${copies.length}.duckdb`));
      copies.push(join(folder, `${copies.length}.duckdb`));
      await sandbox.evolve(1 + Math.floor(random() * 6));
      const before = shiftMs;
      if (random() < 0.4) shiftMs = Math.round((random() - 0.5) * 48 * HOUR_MS);
      if (shiftMs < before) tally.backwards += 1;
      const killAt = random() < 0.4 ? 1 + Math.floor(random() * 8) : 0;
      if (await sync(dataDir, shiftMs, random() < 0.3, killAt, random)) tally.kills += 1;
    }
    const database = await openDatabase(snapshot, { readOnly: true });
    const wrong: string[] = [];
    const positions = new Set<number>();
    try {
      const [{ catalog = "" } = {}] = await database.query(
        "SELECT current_database() AS catalog",
        [],
        z.object({ catalog: z.string() }),
      );
      for (const [nth, copy] of copies.entries()) {
        await database.run(`ATTACH '${copy}' AS copy (READ_ONLY)`);
        const { last, moment } = await lastChangeOf(database, "copy");
        positions.add(last);
        for (const table of TABLE_NAMES) {
          const then = await sumOf(database, table, `copy.main.${quoted(table)}`);
          const now = await sumOf(database, table, `${quoted(catalog)}.as_of.${quoted(table)}('${moment}')`);
          if (JSON.stringify(now) !== JSON.stringify(then)) {
            wrong.push(`${nth}: ${table} at ${moment} (change ${last}): ${JSON.stringify({ then, now })}`);
          }
        }
        await database.run("DETACH copy");
      }
    } finally {
      await database.close();
    }
    process.stdout.write(`as-of: ${JSON.stringify({ ...tally, positions: positions.size, wrong: wrong.length })}\n`);
    expect(wrong).toEqual([]);
    expect(tally.kills).toBeGreaterThan(0);
    expect(tally.backwards).toBeGreaterThan(MOMENTS / 20);
    expect(positions.size).toBeGreaterThan(MOMENTS / 3);
  },
  MOMENTS * 30_000,
);
