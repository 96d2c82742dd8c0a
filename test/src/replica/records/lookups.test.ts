// Single records by id: read together, each by whom it was asked for.
import { expect, test } from "vitest";
import { tableSpec } from "../../../../src/catalog/tables.ts";
import type { Reader } from "../../../../src/replica/reader.ts";
import { createLookups } from "../../../../src/replica/records/lookups.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../../../src/warehouse/file/migrate.ts";

test("ids asked for while a statement is under way are read by one statement, and a failure ends with its statement", async () => {
  const database = await openDatabase(":memory:", { threads: 1 });
  try {
    await migrate(database, 0);
    for (let id = 1; id <= 20; id++) {
      await database.run(
        `INSERT INTO main.contacts (id, organization_id, first_name, _synced_at, _run_id) VALUES ('${id}', 'o', 'N${id}', now(), 'r')`,
      );
    }
    let statements = 0;
    let failing = false;
    const counted: Reader = {
      query: database.query,
      cells: (sql, params) => {
        statements += 1;
        return failing ? Promise.reject(new Error("lost")) : database.cells(sql, params);
      },
    };
    const find = createLookups(counted);
    const fields = tableSpec("contacts").fields.filter(({ name }) => name === "id" || name === "firstName");
    const ask = (id: string) => find({ table: "contacts", fields, extra: false }, id);
    const first = ask("1");
    await Promise.resolve();
    await Promise.resolve();
    const rest = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(String(n + 2))));
    expect((await first)?.object).toBe('{"id":"1","firstName":"N1"}');
    expect(rest.map((found) => found?.object)).toEqual([
      ...Array.from({ length: 19 }, (_, n) => `{"id":"${n + 2}","firstName":"N${n + 2}"}`),
      undefined,
    ]);
    expect(statements).toBe(2);
    failing = true;
    await expect(ask("3")).rejects.toThrow("lost");
    failing = false;
    expect((await ask("3"))?.key).toBe("3");
  } finally {
    await database.close();
  }
});
