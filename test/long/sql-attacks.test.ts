// Attacks by SQL on the built program: a statement writes nothing, ends in time, and its end harms nobody.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { z } from "zod";
import type { QueryBoxes } from "../../src/warehouse/box/boxed-query.ts";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { type Attack, ENDLESS, GREEDY, HEAVY_PLANS, refusedAttacks } from "./sql-attacks.ts";

const built = join(inject("builtCli"), "../../warehouse/box/boxed-query.js");
const { createQueryBoxes, runBoxedQuery }: typeof import("../../src/warehouse/box/boxed-query.ts") = await import(
  built
);

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

let boxes: QueryBoxes | null = null;
afterEach(async () => {
  await boxes?.close();
  boxes = null;
});

/** Runs an attack; answers with its error's code, or with the text of its rows. */
const outcomeOf = async ({ sql }: Attack, using: QueryBoxes): Promise<string> => {
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
  boxes = createQueryBoxes(LIMITS, true);
  const before = filesNow();
  const attacks = refusedAttacks({ snapshot, dir });
  expect(attacks.length).toBeGreaterThan(180);
  for (const attack of attacks) {
    const outcome = await outcomeOf(attack, boxes);
    // Where DuckDB takes a statement that does nothing here, its rows must hold nothing of ours.
    if (!/^[A-Z_]+$/.test(outcome))
      expect(outcome, attack.sql).not.toMatch(/not yours|root:|PATH|secret\.txt|"\/[a-z]/);
    expect(filesNow(), attack.sql).toEqual(before);
  }
  expect(await runBoxedQuery({ snapshot, sql: "FROM t" }, LIMITS)).toMatchObject({ rows: [[1]] });
});

describe("memory", () => {
  test.each(GREEDY)("$name: the statement ends", async (attack) => {
    const before = filesNow();
    boxes = createQueryBoxes({ timeMs: 6000, memoryMiB: 256 });
    expect(await outcomeOf(attack, boxes)).toMatch(/^(QUERY_LIMIT|QUERY_FAILED)$/);
    expect(filesNow()).toEqual(before);
  });
});

describe("time", () => {
  test.each(ENDLESS)("$name: ends when its time is over, and frees its process", async (attack) => {
    boxes = createQueryBoxes({ timeMs: 1500, memoryMiB: 256 });
    expect(await outcomeOf(attack, boxes)).toBe("QUERY_LIMIT");
  });
});

describe("plans", () => {
  test.each(HEAVY_PLANS)("$name: answered or refused", async (attack) => {
    boxes = createQueryBoxes({ timeMs: 20_000, memoryMiB: 256 });
    expect(await outcomeOf(attack, boxes)).toMatch(/^(\[\[|QUERY_LIMIT$|QUERY_FAILED$)/);
  });
});
