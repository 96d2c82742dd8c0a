// Texts of the program's views and table macros, and what each selects: a file from elsewhere is compared with it
// (user-sql/gate/inspect-catalog.ts). PURE, but for the SQL files.
import { VIEW_NAMES, type ViewName } from "../../catalog/tables.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { asOfStatements, NAMES_MARK, recentNames, recentVersions, VERSIONS_MARK } from "./recent-versions.ts";

/** Text of a view; parts that repeat for each table come from the catalog. */
export const viewText = (name: ViewName): string =>
  sqlText(`views/${name}.sql`).replace(VERSIONS_MARK, recentVersions).replace(NAMES_MARK, recentNames);

const VIEW = /^CREATE OR REPLACE VIEW (?<name>[\w.]+) AS\n(?<select>.*?);$/ms;
const MACRO = /^CREATE OR REPLACE MACRO (?<name>[\w."]+)\(moment\) AS TABLE\n(?<select>.*?);$/ms;

const found = (kind: string, pattern: RegExp, text: string): readonly (readonly [string, string])[] => {
  const { name, select } = pattern.exec(text)?.groups ?? {};
  return name === undefined || select === undefined ? [] : [[`${kind} ${name.replaceAll('"', "")}`, select]];
};

/** Each view and macro by its name in the catalog, as `view marts.freshness`, with its SELECT. */
export const ownSelects = (): ReadonlyMap<string, string> =>
  new Map([
    ...VIEW_NAMES.flatMap((name) => found("view", VIEW, viewText(name))),
    ...asOfStatements().flatMap((text) => found("macro", MACRO, text)),
  ]);
