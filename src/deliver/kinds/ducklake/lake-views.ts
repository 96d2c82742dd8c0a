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

export const NO_VIEWS: LakeViews = { digest: "none", statements: [] };

/** Schema of the views beside the tables' schema. */
export const viewsSchema = (schema: string): string => (schema === "main" ? "marts" : `${schema}_marts`);

const OUTSIDE = /\b(?:history|sync)\."?\w/;

/** Views whose tables are all delivered, in the order in which they can be made. PURE. */
export const possibleViews = <T extends { readonly view_name: string; readonly sql: string }>(
  views: readonly T[],
  tables: readonly string[],
): readonly T[] => {
  const uses = (schema: string, sql: string) =>
    [...sql.matchAll(new RegExp(`\\b${schema}\\."?(\\w+)\\b"?(?!\\()`, "g"))].flatMap(([, name]) =>
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

const bodyOf = (sql: string): string => /^CREATE VIEW .*?\bAS\b(.*?);?$/s.exec(sql.trim())?.[1] ?? "";

/** DuckDB cannot plan the text that it keeps of some views. Such a view must not fail a delivery. */
const canBePlanned = (lake: ExtendedDuckdb, sql: string): Promise<boolean> =>
  lake.run(`EXPLAIN ${bodyOf(sql)}`).then(
    () => true,
    () => false,
  );

/** Statements that make the views over `tables` of `schema`. */
export const readViews = async (
  lake: ExtendedDuckdb,
  schema: string,
  tables: readonly string[],
): Promise<LakeViews> => {
  const rows = await lake.run(`SELECT view_name, sql FROM duckdb_views()
    WHERE database_name = '${SNAPSHOT}' AND schema_name = 'marts' ORDER BY view_name`);
  const to = viewsSchema(schema);
  await lake.run(`USE ${SNAPSHOT}`);
  const planned: z.output<typeof viewRow>[] = [];
  for (const view of z.array(viewRow).parse(rows)) if (await canBePlanned(lake, view.sql)) planned.push(view);
  await lake.run("USE memory");
  const statements = possibleViews(planned, tables).flatMap(({ view_name: name, sql }) => {
    const select = bodyOf(sql)
      // DuckDB writes some functions with their schema.
      .replace(/\bmain\.(\w+\()/g, "$1")
      .replace(/\bmain\./g, `${quoted(schema)}.`)
      .replace(/\bmarts\./g, `${quoted(to)}.`);
    return [`DROP VIEW IF EXISTS ${lakePath(to, name)}`, `CREATE VIEW ${lakePath(to, name)} AS ${select}`];
  });
  return { digest: createHash("sha256").update(statements.join()).digest("hex").slice(0, 12), statements };
};
