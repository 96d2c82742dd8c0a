// Attacks by SQL on the built program: a statement writes nothing, ends in time, and its end harms nobody.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import type { QueryProcesses } from "../../src/warehouse/user-sql/user-query.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { type Attack, ENDLESS, refusedAttacks } from "./sql-attacks.ts";

const built = join(inject("builtCli"), "../../warehouse/user-sql/user-query.js");
const { createQueryProcesses, runUserQuery }: typeof import("../../src/warehouse/user-sql/user-query.ts") =
  await import(built);

const withCode = z.object({ code: z.string() });
const LIMITS = { timeMs: 600_000, memoryMiB: 256 };

let dir: string;
let snapshot: string;
beforeEach(async () => {
  dir = tempFolder();
  snapshot = join(dir, "warehouse.duckdb");
  writeFileSync(join(dir, "secret.txt"), "not yours");
  const database = await openDatabase(snapshot);
  await database.run("CREATE TABLE t AS SELECT 1 AS x");
  await database.close();
});

/** Name and content of every file in the folder. */
const filesNow = () =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => {
      const hash = createHash("sha256")
        .update(readFileSync(join(parentPath, name)))
        .digest("hex");
      return `${name} ${hash}`;
    })
    .sort();

let processes: QueryProcesses | null = null;
afterEach(async () => {
  await processes?.close();
  processes = null;
});

/** Runs an attack; answers with its error's code, or with the text of its rows. */
const outcomeOf = async ({ sql }: Attack, using: QueryProcesses): Promise<string> => {
  try {
    return await using.stream({ snapshot, sql }, async ({ batches }) => {
      const texts: string[] = [];
      for await (const batch of batches) texts.push(JSON.stringify(batch));
      return texts.join("");
    });
  } catch (error) {
    return withCode.parse(error).code;
  }
};

test("nothing that a statement does reads, writes or changes anything else", async () => {
  processes = createQueryProcesses(LIMITS, "owner", { spare: true });
  const before = filesNow();
  const attacks = refusedAttacks({ snapshot, dir });
  for (const attack of attacks) {
    const outcome = await outcomeOf(attack, processes);
    // Where DuckDB takes a statement that does nothing here, its rows must hold nothing of ours.
    if (!/^[A-Z_]+$/.test(outcome))
      expect(outcome, attack.sql).not.toMatch(/not yours|root:|PATH|secret\.txt|"\/[a-z]/);
    expect(filesNow(), attack.sql).toEqual(before);
  }
  expect(await runUserQuery({ snapshot, sql: "FROM t" }, LIMITS, "owner")).toMatchObject({ rows: [[1]] });
});

// served-sql.test.ts has greedy statements and heavy plans, too, over HTTP.
test.each(ENDLESS)("$name: ends when its time is over, and frees its process", async (attack) => {
  processes = createQueryProcesses({ timeMs: 1500, memoryMiB: 256 }, "owner");
  expect(await outcomeOf(attack, processes)).toBe("QUERY_LIMIT");
});
