// Checks a user's statement on DuckDB's own parse of it, before anything binds: one statement that reads, and calls only what is listed
// (allowed-names.ts). The fence holds without this; the gate keeps known faults of the engine away from users' SQL.
import type { DuckDBConnection } from "@duckdb/node-api";
import {
  BINDER_FUNCTIONS,
  COLLATIONS,
  EXPRESSIONS,
  REFUSED_VIEWS,
  TABLE_FUNCTIONS,
  TYPE_IDS,
  TYPE_NAMES,
} from "./allowed-names.ts";

/** The statement may not run; the text says why. */
export class Refused extends Error {}

const KINDS = "only one statement of SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE or EXPLAIN may run";
/** EXPLAIN is no SELECT to the parser: what it explains is checked instead. Comments before it are skipped. */
const EXPLAIN =
  /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(EXPLAIN(?:\s+ANALYZE)?(?:\s*\(\s*FORMAT\s+\w+\s*\))?)(?=[\s(])/is;

type Node = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null;
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Every object in the parse, outer ones first. */
function* nodesIn(root: unknown): Generator<Node, void> {
  const open = [root];
  for (let next = open.pop(); next !== undefined || open.length > 0; next = open.pop()) {
    if (!isNode(next)) continue;
    yield next;
    for (const value of Object.values(next)) open.push(value);
  }
}

const isExpression = (name: string): boolean =>
  EXPRESSIONS.has(name) || BINDER_FUNCTIONS.has(name) || COLLATIONS.test(name);

/** A table macro of the mirror, which the program made. */
interface Macro {
  readonly schema: string;
  readonly name: string;
}

const callProblem = (call: Node, isTable: boolean, macros: Macro[]): string | null => {
  const name = textOf(call.function_name).toLowerCase();
  const schema = textOf(call.schema);
  if (call.export_state === true) return "states of aggregates (EXPORT_STATE) are not exported";
  if (isTable && (schema === "asof" || schema === "as_of")) {
    // The catalog does not show the default of a parameter, which nobody has judged.
    if (!Array.isArray(call.children) || call.children.length !== 1) return `${schema}.${name} takes one moment`;
    macros.push({ schema, name });
    return null;
  }
  const allowed = isTable ? TABLE_FUNCTIONS.has(name) : isExpression(name);
  return allowed ? null : `the function ${name} is not one that it may call`;
};

const typeProblem = ({ id, type_info }: Node): string | null => {
  // The parser leaves some names to the binder, and knows others as another type under an alias: GEOMETRY is a BLOB.
  const given = isNode(type_info) ? textOf(type_info.name) || textOf(type_info.alias) : "";
  const name = given.toLowerCase();
  if (TYPE_IDS.has(textOf(id)) && (id !== "UNBOUND" || name !== "") && (name === "" || TYPE_NAMES.has(name)))
    return null;
  return `the type ${name || textOf(id)} is not one that it may name`;
};

/** Functions whose second argument names types in a text, as `'{"a": "INT"}'`. */
const NAMING_TYPES = /^(?:from_json|json_transform)(?:_strict)?$/;

const namedTypeProblem = ({ function_name, children }: Node): string | null => {
  if (!NAMING_TYPES.test(textOf(function_name).toLowerCase()) || !Array.isArray(children)) return null;
  const [, structure] = children;
  const constant = isNode(structure) && isNode(structure.value) ? structure.value.value : null;
  if (typeof constant !== "string") return `the structure of ${textOf(function_name)} must be a plain text`;
  return /geometry|\\u/i.test(constant) ? "the type geometry is not one that it may name" : null;
};

/** Offsets beyond a billion rows, and computed ones, end the process: `lag(1, -9223372036854775808)`. */
const windowProblem = ({ type, offset_expr }: Node): string | null => {
  if (!/^WINDOW_(LAG|LEAD)$/.test(textOf(type)) || !isNode(offset_expr)) return null;
  const value = isNode(offset_expr.value) ? offset_expr.value.value : null;
  if (typeof value === "number" && Math.abs(value) <= 1e9) return null;
  return "the offset of lag and lead must be a whole number up to a billion";
};

const problemOf = (node: Node, tableCalls: Set<unknown>, macros: Macro[]): string | null => {
  if (node.type === "TABLE_FUNCTION") tableCalls.add(node.function);
  // SUMMARIZE names its table in quotes.
  const view = textOf(node.table_name).toLowerCase().replaceAll('"', "").split(".").at(-1) ?? "";
  if (REFUSED_VIEWS.has(view)) return `the view ${view} is not one that it may read`;
  if ("function_name" in node) {
    return callProblem(node, tableCalls.has(node), macros) ?? windowProblem(node) ?? namedTypeProblem(node);
  }
  return "id" in node && "type_info" in node ? typeProblem(node) : null;
};

const firstText = async (connection: DuckDBConnection, sql: string, params: readonly string[]): Promise<string> => {
  const result = await connection.runAndReadAll(sql, [...params]);
  return String(result.getRows()[0]?.[0] ?? "");
};

/** The macro is one that the snapshot holds: a name elsewhere would be looked up among DuckDB's own. */
const assertOwn = async (connection: DuckDBConnection, { schema, name }: Macro): Promise<void> => {
  const sql = `SELECT count(*)::VARCHAR FROM system.main.duckdb_functions()
    WHERE schema_name = $1::VARCHAR AND lower(function_name) = $2::VARCHAR AND NOT internal AND function_type = 'table_macro'
      AND parameters = ['moment']`;
  if ((await firstText(connection, sql, [schema, name])) !== "1") throw new Refused(`there is no ${schema}.${name}`);
};

/** Numbers that JSON lacks and DuckDB writes all the same, as in `SELECT 1e400`; a text is skipped. */
const NO_JSON = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:Infinity|NaN|inf|nan)\b/g;

const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return JSON.parse(text.replace(NO_JSON, (found) => (found.startsWith('"') ? found : "null")));
  }
};

const parse = async (connection: DuckDBConnection, sql: string): Promise<Node> => {
  // By its whole name: a snapshot may hold a macro of the same name.
  const text = await firstText(connection, "SELECT system.main.json_serialize_sql($1::VARCHAR)", [sql]);
  const parsed = parsedJson(text);
  if (!isNode(parsed)) throw new Refused(KINDS);
  return parsed;
};

/** The statement as it may run. Throws Refused, or DuckDB's error for a text that is no SQL. */
export const checkStatement = async (connection: DuckDBConnection, sql: string): Promise<string> => {
  const [all = "", explain = null] = EXPLAIN.exec(sql) ?? [];
  const select = sql.slice(all.length);
  const { error, error_type, statements } = await parse(connection, select);
  // Throws the parser's own error. Only of this text, which the parser refuses: of a text that it takes, DuckDB evaluates the
  // arguments of PRAGMA while it extracts the statements.
  if (error === true && error_type === "parser") await connection.extractStatements(select);
  if (!Array.isArray(statements) || statements.length === 0) throw new Refused(KINDS);
  if (statements.length > 1) throw new Refused(`these are ${statements.length} statements; give one at a time`);
  const tableCalls = new Set<unknown>();
  const macros: Macro[] = [];
  for (const node of nodesIn(statements)) {
    const problem = problemOf(node, tableCalls, macros);
    if (problem !== null) throw new Refused(problem);
  }
  for (const macro of macros) await assertOwn(connection, macro);
  return explain === null ? sql : `${explain} ${select}`;
};
