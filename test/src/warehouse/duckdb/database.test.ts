// A database that makes do with little memory until a statement needs more.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { isCode } from "../../../../src/core/errors.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { tempDir } from "../temp-dir.ts";

const ROWS = 150_000;
/** Sorted within one aggregate: neither spilled nor done piece by piece. */
const HUNGRY = "SELECT len(list(md5(range::VARCHAR) ORDER BY md5(range::VARCHAR))) AS n";
const number = z.object({ n: z.number() });
const limit = z.object({ limit: z.string() });

const MIB = 2 ** 20;

test("a small file has one thread", async () => {
  const threadsOf = async (file: string) => {
    const database = await openDatabase(file);
    onTestFinished(() => database.close());
    return database.query("SELECT current_setting('threads') AS n", [], number);
  };
  expect(await threadsOf(join(tempDir(), "small.duckdb"))).toEqual([{ n: 1 }]);
  expect(await threadsOf(":memory:")).toEqual([{ n: availableParallelism() }]);
});

const frugal = async (ceilingMib = 2048) => {
  const database = await openDatabase(join(tempDir(), "frugal.duckdb"), {
    memory: { startBytes: 10 * MIB, ceilingBytes: ceilingMib * MIB },
  });
  onTestFinished(() => database.close());
  const limitNow = async () =>
    (await database.query(`SELECT current_setting('memory_limit') AS "limit"`, [], limit))[0]?.limit;
  return { database, limitNow };
};

test("a transaction that needs more memory is done again, once and whole, and later ones have it at once", async () => {
  const { database, limitNow } = await frugal();
  expect(await limitNow()).toBe("10.0 MiB");
  let times = 0;
  const work = () =>
    database.transaction(async (tx) => {
      times += 1;
      await tx.run("CREATE OR REPLACE TABLE met AS SELECT 1 AS n");
      const found = await tx.query(`${HUNGRY} FROM range(${ROWS})`, [], number);
      await tx.run("INSERT INTO met VALUES (2)");
      return found;
    });
  expect(await work()).toEqual([{ n: ROWS }]);
  // 10 and 20 MiB do not suffice.
  expect(times).toBe(3);
  expect(await limitNow()).toBe("40.0 MiB");
  expect(await database.query("SELECT n FROM met ORDER BY n", [], number)).toEqual([{ n: 1 }, { n: 2 }]);
  await work();
  expect(times).toBe(4);
});

test("statements beside each other that need more all succeed", async () => {
  const { database } = await frugal();
  const hungry = () => database.query(`${HUNGRY} FROM range(${ROWS})`, [], number);
  expect(await Promise.all([hungry(), hungry()])).toEqual([[{ n: ROWS }], [{ n: ROWS }]]);
});

test("what does not fit into all the memory there may be fails, and leaves nothing behind", async () => {
  const { database } = await frugal(16);
  const work = database.transaction(async (tx) => {
    await tx.run("CREATE TABLE met AS SELECT 1 AS n");
    await tx.query(`${HUNGRY} FROM range(${4 * ROWS})`, [], number);
  });
  await expect(work).rejects.toSatisfy((error) => isCode(error, "NO_MEMORY"));
  expect(
    await database.query("SELECT count(*) AS n FROM duckdb_tables() WHERE table_name = 'met'", [], number),
  ).toEqual([{ n: 0 }]);
});

test("a file that is opened again after a publish goes on with what it needed before", async () => {
  const { database, limitNow } = await frugal();
  await database.offline(async () => undefined);
  expect(await limitNow()).toBe("10.0 MiB");
  await database.query(`${HUNGRY} FROM range(${ROWS})`, [], number);
  await database.offline(async () => undefined);
  expect(await limitNow()).toBe("40.0 MiB");
});
