// The analysts' views in a lake: those that need tables of schema main only. History and duckmirror's own tables are not
// delivered.
import { createHash } from "node:crypto";
import { z } from "zod";
import { quoted } from "../../../core/text/sql-text.ts";
import type { ExtendedDuckdb } from "../../../warehouse/duckdb/extended/extended-duckdb.ts";
import { lakePath, SNAPSHOT } from "./table-sql.ts";

const viewRow = z.object({ view_name: z.string(), sql: z.string() });

export interface LakeViews {
  readonly digest: string;
  readonly statements: readonly string[];
}

/** Schema of the views beside the tables' schema. */
export const viewsSchema = (schema: string): string => (schema === "main" ? "marts" : `${schema}_marts`);

const OUTSIDE = /\b(?:history|sync)\."?\w/;

/** Views whose tables are all delivered, in the order in which they can be made. PURE. */
export const possibleViews = <T extends { readonly view_name: string; readonly sql: string }>(
  views: readonly T[],
  tables: readonly string[],
): readonly T[] => {
  const uses = (schema: string, sql: string) =>
    [...sql.matchAll(new RegExp(`\\b${schema}\\."?(\\w+)`, "g"))].flatMap(([, name]) =>
      name === undefined ? [] : [name],
    );
  const made: T[] = [];
  for (let left = views.filter(({ sql }) => !OUTSIDE.test(sql)); ; ) {
    const ready = left.filter(
      ({ view_name: name, sql }) =>
        uses("main", sql).every((table) => tables.includes(table)) &&
        uses("marts", sql).every((view) => view === name || made.some((one) => one.view_name === view)),
    );
    if (ready.length === 0) return made;
    made.push(...ready);
    left = left.filter((one) => !ready.includes(one));
  }
};

/** Statements that make the views over `tables` of `schema`. */
export const readViews = async (
  lake: ExtendedDuckdb,
  schema: string,
  tables: readonly string[],
): Promise<LakeViews> => {
  const rows = await lake.run(`SELECT view_name, sql FROM duckdb_views()
    WHERE database_name = '${SNAPSHOT}' AND schema_name = 'marts' ORDER BY view_name`);
  const to = viewsSchema(schema);
  const statements = possibleViews(z.array(viewRow).parse(rows), tables).flatMap(({ view_name: name, sql }) => {
    const [, body = ""] = /^CREATE VIEW .*?\bAS\b(.*?);?$/s.exec(sql.trim()) ?? [];
    const select = body.replace(/\bmain\./g, `${quoted(schema)}.`).replace(/\bmarts\./g, `${quoted(to)}.`);
    return [`DROP VIEW IF EXISTS ${lakePath(to, name)}`, `CREATE VIEW ${lakePath(to, name)} AS ${select}`];
  });
  return { digest: createHash("sha256").update(statements.join()).digest("hex").slice(0, 12), statements };
};
