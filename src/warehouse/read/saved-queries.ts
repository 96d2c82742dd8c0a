// Lists and loads the saved queries of the program: the files of sql/queries, by name.
import { DuckmirrorError } from "../../core/errors.ts";
import { listProgram, programFile } from "../../core/program-files.ts";
import { didYouMean } from "../../core/text/did-you-mean.ts";
import { sqlText } from "../duckdb/sql-files.ts";

export interface SavedQuery {
  /** Its file's name without `.sql`. */
  readonly name: string;
  readonly question: string;
  /** What one row of the result is. */
  readonly answer: string;
  /** Who asks it. */
  readonly readers: string;
  readonly sql: string;
}

/** `-- Question: ...` in the header of a saved query. */
const headLine = (sql: string, word: string): string =>
  new RegExp(`^-- ${word}: (.*(?:\\n-- (?!\\w+:).*)*)`, "m").exec(sql)?.[1]?.replaceAll("\n-- ", " ") ?? "";

export const savedQueries = (): readonly SavedQuery[] =>
  listProgram(programFile("sql/queries/"))
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => {
      const sql = sqlText(`queries/${file}`);
      const [question = "", answer = "", readers = ""] = ["Question", "Answer", "Readers"].map((word) =>
        headLine(sql, word),
      );
      return { name: file.replace(/\.sql$/, ""), question, answer, readers, sql };
    });

/** SQL of the saved query `name`. Throws USAGE if there is none. */
export const savedSql = (name: string): string => {
  const all = savedQueries();
  const found = all.find((query) => query.name === name);
  if (found !== undefined) return found.sql;
  const names = all.map((query) => query.name);
  throw new DuckmirrorError("USAGE", {
    detail: `no saved query is named '${name}'.${didYouMean(name, names)} \`duckmirror query --list\` shows all`,
  });
};
