// Random work at limits that do not suffice: transactions, statements, COMMIT and CHECKPOINT fail for want of memory, some of
// them fatally, and nobody hears of it: each change is made exactly once. The same work in a database with all the memory
// there is says what must come out. DUCKMIRROR_MEMORY_SEEDS=200 makes the run longer; a seed that fails is printed.
import { join } from "node:path";
import { VARCHAR } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Database, openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import type { Sql } from "../../../../src/warehouse/duckdb/statements.ts";
import { seededRandom } from "../../../support/chance.ts";
import { tempDir } from "../temp-dir.ts";

const MIB = 2 ** 20;
const SEEDS = Number(process.env.DUCKMIRROR_MEMORY_SEEDS ?? 2);
const FIRST_SEED = Number(process.env.DUCKMIRROR_MEMORY_SEED ?? 1);
const STEPS = 12;
/** The need of a checkpoint follows the number of touched columns. */
const COLUMNS = Array.from({ length: 120 }, (_, index) => `c${index}`);

const count = z.object({ n: z.number() });
const digest = z.object({ n: z.number(), sum: z.union([z.number(), z.bigint(), z.string()]).nullable() });

type Change = (sql: Sql) => Promise<unknown>;

const insert = (from: number, rows: number): Change => {
  const values = COLUMNS.map((column) => `md5(concat(i, '${column}'))`).join(", ");
  return (sql) => sql.run(`INSERT INTO wide SELECT i, ${values}, NULL FROM range(${from}, ${from + rows}) AS r(i)`);
};
const update =
  (part: number): Change =>
  (sql) =>
    sql.run(`UPDATE wide SET c0 = c0 || 'x', c7 = md5(c7), c99 = NULL WHERE id % 7 = ${part}`);
const remove =
  (part: number): Change =>
  (sql) =>
    sql.run(`DELETE FROM wide WHERE id % 11 = ${part}`);
const long =
  (id: number, mib: number): Change =>
  async (sql) => {
    await sql.run("DELETE FROM texts WHERE id = $1", [id]);
    const text = `${id}`.padEnd(mib * MIB, "0123456789abcdef");
    await sql.append("texts", [VARCHAR, VARCHAR], [[String(id), text]]);
  };

/** A change of `seed`'s random work: the same one whenever it is asked for in the same order. */
const drawChange = (random: () => number, next: { id: number }): Change => {
  const kind = random();
  const part = Math.floor(random() * 7);
  if (kind < 0.4) {
    const rows = 50 + Math.floor(random() * 2500);
    next.id += rows;
    return insert(next.id - rows, rows);
  }
  if (kind < 0.6) return update(part);
  return kind < 0.75 ? remove(part) : long(part, 1 + Math.floor(random() * 4));
};

const create = async (database: Database) => {
  const columns = COLUMNS.map((column) => `${column} VARCHAR`).join(", ");
  await database.run(`CREATE TABLE wide (id BIGINT PRIMARY KEY, ${columns}, extra JSON)`);
  await database.run("CREATE TABLE texts (id VARCHAR, text VARCHAR)");
  await database.run("CREATE TABLE applied AS SELECT 0 AS n");
};

const appliedOf = async (sql: Sql) => (await sql.query("SELECT n FROM applied", [], count))[0]?.n;

const contents = async (database: Database) => [
  await database.query("SELECT count(*) AS n, CAST(sum(hash(wide)) AS VARCHAR) AS sum FROM wide", [], digest),
  await database.query("SELECT count(*) AS n, CAST(sum(hash(texts)) AS VARCHAR) AS sum FROM texts", [], digest),
  await appliedOf(database),
];

test.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))("seed %i", async (seed) => {
  const random = seededRandom(seed);
  const startBytes = [20, 32, 48, 64][Math.floor(random() * 4)] ?? 48;
  const small = await openDatabase(join(tempDir(), "small.duckdb"), {
    memory: { startBytes: startBytes * MIB, ceilingBytes: 2048 * MIB },
    threads: 1 + (seed % 2),
  });
  const large = await openDatabase(join(tempDir(), "large.duckdb"), { threads: 1 });
  try {
    await create(small);
    await create(large);
    const next = { id: 0 };
    for (let step = 1; step <= STEPS; step += 1) {
      const changes = Array.from({ length: 1 + Math.floor(random() * 3) }, () => drawChange(random, next));
      const work = async (tx: Sql) => {
        for (const change of changes) await change(tx);
        await tx.run("UPDATE applied SET n = n + 1");
      };
      await small.transaction(work, { isCommitted: async (sql) => (await appliedOf(sql)) === step });
      await large.transaction(work);
      if (random() < 0.4) await Promise.all([small.flushWal(), appliedOf(small)]);
      if (random() < 0.2) await small.offline(async () => undefined);
    }
    expect(await contents(small)).toEqual(await contents(large));
  } finally {
    await small.close();
    await large.close();
  }
});
