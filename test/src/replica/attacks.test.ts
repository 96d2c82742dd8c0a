// Whatever a client writes into a path or a parameter: it reaches DuckDB as a bound value, never as text of a statement.

import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ENDPOINTS } from "../../../src/catalog/endpoints.ts";
import { matchRoute } from "../../../src/replica/query/route-match.ts";
import type { Reader } from "../../../src/replica/reader.ts";
import { Refusal } from "../../../src/replica/refusal.ts";
import { createReplica } from "../../../src/replica/replica.ts";
import { openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../../src/warehouse/file/migrate.ts";
import { forFile } from "../../support/for-file.ts";

const countRow = z.object({ rows: z.number() });

const ATTACKS = [
  "x' OR '1'='1",
  "x'; DROP TABLE accounts; --",
  "id\" FROM accounts; COPY accounts TO '/tmp/x'; --",
  "1) UNION SELECT * FROM read_text('/etc/passwd') --",
  "$1 OR true",
  "name, (SELECT getenv('HOME'))",
  "'/etc/passwd'",
  "x\u0000' OR true",
];

const database = await forFile(openDatabase(":memory:", { threads: 1, lockedDown: true }));
await migrate(database, 0);

describe.each(
  Object.values(ENDPOINTS)
    .filter(({ method }) => method === "GET")
    .map((route) => [route.path, route] as const),
)("%s", (path, route) => {
  test("takes no attack into the text of a statement", async () => {
    for (const attack of ATTACKS) {
      const check = (sql: string) => {
        expect(sql).not.toContain(attack);
        expect(sql).not.toContain(attack.replaceAll("'", "''"));
      };
      const spied: Reader = {
        query: (sql, params, row) => {
          check(sql);
          return database.query(sql, params, row);
        },
        cells: (sql, params) => {
          check(sql);
          return database.cells(sql, params);
        },
      };
      const replica = createReplica({ database: spied, clock: { now: () => 0 }, tier: () => "full" });
      const url = path.replace(/\{\w+\}/g, encodeURIComponent(attack));
      const everywhere = route.query.map(({ name }) => ({ [name]: attack }));
      for (const query of [{}, ...everywhere]) {
        try {
          await replica.answer({ match: matchRoute("GET", url), query });
        } catch (error) {
          expect(error).toBeInstanceOf(Refusal);
        }
      }
    }
    expect(await database.query("SELECT count(*) AS rows FROM main.accounts", [], countRow)).toEqual([{ rows: 0 }]);
  });
});
