// A table that does not exist: the guess is one of the mirror's own tables, whatever DuckDB guesses.
import { expect, test } from "vitest";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { withOurGuess } from "../../../../src/warehouse/duckdb/duck-errors.ts";

/** DuckDB's own message, from an empty database. */
const messageOf = async (sql: string): Promise<string> => {
  const database = await openDatabase(":memory:");
  try {
    await database.run("CREATE SCHEMA marts; CREATE SCHEMA history");
    return await database.run(sql).then(
      () => "",
      (error: unknown) => (error instanceof Error ? error.message : ""),
    );
  } finally {
    await database.close();
  }
};

test.each([
  ["FROM sigals", "signals"],
  ["FROM acounts", "accounts"],
  ["FROM account_360", "marts.account_360"],
  ["FROM mart.account_360", "marts.account_360"],
  ["SELECT 1\nFROM history.contcts", "history.contacts"],
  ["FROM marts.acount_360", "marts.account_360"],
  ["FROM stream_state", "sync.stream_state"],
  ['FROM "job openings"', "job_openings"],
])("%s means %s", async (sql, meant) => {
  const message = withOurGuess(await messageOf(sql));
  expect(message).toContain(`\nDid you mean "${meant}"?\n`);
  expect(message.match(/Did you mean/g)).toHaveLength(1);
  expect(message).toContain("LINE ");
});

test("a name that is like none of ours gets no guess, not DuckDB's internal tables", async () => {
  const message = await messageOf("FROM invoices_of_2019");
  expect(message).toContain("Did you mean");
  expect(withOurGuess(message)).not.toContain("Did you mean");
});

test("other messages stay as they are", async () => {
  for (const sql of ["SELECT foo(1)", "SELECT nme FROM (SELECT 1 AS name)", "SELEC 1"]) {
    const message = await messageOf(sql);
    expect([sql, withOurGuess(message)]).toEqual([sql, message]);
  }
});
