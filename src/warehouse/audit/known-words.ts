// Words that a redacted statement may hold: those of SQL, and the names of schemas, tables, columns and views that
// duckmirror itself defines. No name of a user's is among them.
import { catalogTables } from "../../catalog/dictionary.ts";
import { VIEW_NAMES } from "../../catalog/view-names.ts";
import { listProgram, programFile } from "../../core/program-files.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { SQL_WORDS } from "./sql-words.ts";

const SCHEMAS = ["main", "history", "marts", "sync", "information_schema"];
const views = programFile("sql/views/");

/** Names in the views' own texts, comments and literals aside. */
const namesInViews = (): readonly string[] =>
  listProgram(views)
    .filter((name) => name.endsWith(".sql"))
    .flatMap((name) => {
      const code = sqlText(`views/${name}`).replace(/--.*|'[^']*'/g, " ");
      return code.toLowerCase().match(/[a-z_]\w*/g) ?? [];
    });

export interface KnownWords {
  /** Words of SQL, and the names. */
  readonly words: ReadonlySet<string>;
  /** Names that the mirror defines. In quotes only these stay: DuckDB reads other quoted text as a value. */
  readonly names: ReadonlySet<string>;
}

let known: KnownWords | null = null;

/** Every known word, in lower case. */
export const knownWords = (): KnownWords => {
  if (known !== null) return known;
  const names = [
    ...SCHEMAS,
    ...VIEW_NAMES,
    ...catalogTables().flatMap(({ name, columns }) => [name, ...columns.map((column) => column.name)]),
  ];
  known = { names: new Set(names), words: new Set([...SQL_WORDS, ...names, ...namesInViews()]) };
  return known;
};
