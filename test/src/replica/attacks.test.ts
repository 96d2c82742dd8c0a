// Whatever a client writes into a path or a parameter: it reaches DuckDB as a bound value, never as text of a statement.

import { expect, test } from "vitest";
import { ENDPOINTS } from "../../../src/catalog/endpoints.ts";
import { Refusal } from "../../../src/replica/refusal.ts";
import { aMirror, ask, watched } from "./rig.ts";

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

const database = await aMirror();

test.each(Object.values(ENDPOINTS).filter(({ method }) => method === "GET"))(
  "$path takes no attack into the text of a statement",
  async (route) => {
    for (const attack of ATTACKS) {
      const spied = watched(database, (sql) => {
        expect(sql).not.toContain(attack);
        expect(sql).not.toContain(attack.replaceAll("'", "''"));
      });
      const path = route.path.replace(/\{\w+\}/g, encodeURIComponent(attack));
      for (const query of [{}, ...route.query.map(({ name }) => ({ [name]: attack }))]) {
        const outcome: unknown = await ask(spied, path, query).catch((error: unknown) => error);
        if (typeof outcome !== "string") expect(outcome).toBeInstanceOf(Refusal);
      }
    }
    expect(await database.cells("SELECT count(*) FROM main.accounts", [])).toEqual([[0]]);
  },
);
