// GET /v1/signals/counts: `all`, `accounts`, and one count per signal type (API.md, "Signal").
import { z } from "zod";
import { SIGNAL_TYPES } from "../catalog/resources.ts";
import { Binds, FILTERS } from "./query/filters.ts";
import type { Params } from "./query/params.ts";
import type { Reader } from "./reader.ts";

const countRow = z.object({
  type: z.string().nullable(),
  whole: z.boolean(),
  total: z.number(),
  accounts: z.number(),
});

/** JSON text of the counts; documented types without a signal count 0. */
export const signalCounts = async (reader: Reader, params: Params): Promise<string> => {
  const binds = new Binds();
  const conditions = FILTERS.signals(params, binds).map((condition) => `(${condition})`);
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const rows = await reader.query(
    `SELECT t.type, grouping(t.type) = 1 AS whole, count(*) AS total, count(DISTINCT t.account_id) AS accounts
     FROM main.signals AS t ${where} GROUP BY GROUPING SETS ((), (t.type)) ORDER BY t.type`,
    binds.values,
    countRow,
  );
  // A signal without a type is in a group of its own, whose type is NULL, too.
  const all = rows.find(({ whole }) => whole);
  return JSON.stringify({
    all: all?.total ?? 0,
    accounts: all?.accounts ?? 0,
    ...Object.fromEntries(SIGNAL_TYPES.map((type) => [type, 0])),
    ...Object.fromEntries(rows.flatMap(({ type, total }) => (type === null ? [] : [[type, total]]))),
  });
};
