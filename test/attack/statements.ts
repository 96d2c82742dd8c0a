// Statements that attack the process of a user's SQL: known faults and their kin, attempts to reach outside, and generated ones that
// call every function of DuckDB with edge values of its types.

import { DuckDBInstance } from "@duckdb/node-api";
import { seededRandom } from "../support/chance.ts";

export interface Family {
  readonly name: string;
  readonly statements: readonly string[];
}

/** Faults of DuckDB 1.5.6 that run native code or end the process. */
const FAULTS: readonly string[] = [
  "CREATE TEMP TABLE t9 AS SELECT (any_value('aaaa'::BLOB) EXPORT_STATE) s; INSERT INTO t9 VALUES (unhex(repeat('41', 24))); SELECT hex(finalize(s)) FROM t9",
  "SELECT (any_value('aaaaaaaaaaaaaaaaaaaaaaaa'::VARCHAR) EXPORT_STATE)::BLOB",
  ...[
    "any_value",
    "arg_max",
    "string_agg",
    "list",
    "mode",
    "quantile",
    "max",
    "histogram",
    "first",
    "approx_quantile",
  ].map(
    (name) =>
      `CREATE TEMP TABLE s_${name} AS SELECT (${name}('a'${name.includes("quantile") || name === "arg_max" ? ", 0.5" : ""}) EXPORT_STATE) s; INSERT INTO s_${name} VALUES (unhex(repeat('7f', 64))); SELECT finalize(s), combine(s, s) FROM s_${name}`,
  ),
  "SELECT lag(1, -9223372036854775808) OVER ()",
  "SELECT lead(1, 9223372036854775807) OVER ()",
  "SELECT nth_value(1, -9223372036854775808) OVER ()",
  "SELECT sum(range) OVER (ROWS BETWEEN 9223372036854775807 PRECEDING AND 9223372036854775807 FOLLOWING) FROM range(9)",
  "SELECT sum(range) OVER (ORDER BY range RANGE BETWEEN 9223372036854775807 PRECEDING AND CURRENT ROW) FROM range(9)",
  "SELECT json_serialize_sql('SELECT 1')",
  "FROM json_execute_serialized_sql(json_serialize_sql('SELECT getvariable(''a'')'))",
  `FROM json_execute_serialized_sql('{"error":false,"statements":[{"node":{"type":"SELECT_NODE","modifiers":[],"cte_map":{"map":[]},"select_list":[{"class":"CONSTANT","type":"VALUE_CONSTANT","alias":"","value":{"type":{"id":"POINTER","type_info":null},"is_null":false,"value":4702111234474983745}}],"from_table":{"type":"EMPTY"},"group_expressions":[],"group_sets":[],"aggregate_handling":"STANDARD_HANDLING"}}]}')`,
  `FROM json_execute_serialized_sql('{"error":false,"statements":[{"node":{"type":"SELECT_NODE","modifiers":[],"cte_map":{"map":[]},"select_list":[{"class":"STAR","type":"STAR","alias":""}],"from_table":{"type":"TABLE_FUNCTION","alias":"","function":{"class":"FUNCTION","type":"FUNCTION","function_name":"arrow_scan","children":[{"class":"CONSTANT","type":"VALUE_CONSTANT","value":{"type":{"id":"POINTER","type_info":null},"is_null":false,"value":1}},{"class":"CONSTANT","type":"VALUE_CONSTANT","value":{"type":{"id":"POINTER","type_info":null},"is_null":false,"value":1}},{"class":"CONSTANT","type":"VALUE_CONSTANT","value":{"type":{"id":"POINTER","type_info":null},"is_null":false,"value":4702111234474983745}}]},"column_name_alias":[]},"group_expressions":[],"group_sets":[],"aggregate_handling":"STANDARD_HANDLING"}}]}')`,
  "SELECT '\\x01\\x02'::BLOB::BIT, ''::BLOB::BIT, bitstring('1', 2147483647)",
  "SELECT st_geomfromwkb(unhex(repeat('01ffffffff', 9)))",
  "SELECT variant_bytes_to_variant(unhex(repeat('ff', 32)))",
  "SELECT decode(create_sort_key([1, NULL], 'ASC'))",
];

/** `secret`: a file of the server; `port`: where something listens. */
const outside = (secret: string, folder: string, port: number): readonly string[] => [
  ...["read_text", "read_blob", "read_csv", "read_json", "read_parquet", "glob", "sniff_csv", "parquet_metadata"].map(
    (name) => `FROM ${name}('${secret}')`,
  ),
  `FROM '${secret}'`,
  `FROM glob('${folder}/*')`,
  `COPY (SELECT 1) TO '${folder}/written.csv'`,
  `ATTACH '${folder}/attached.duckdb' AS o`,
  `EXPORT DATABASE '${folder}/exported'`,
  `SET temp_directory = '${folder}/spilled'`,
  `CALL enable_logging(storage = 'file', storage_path = '${folder}/logged')`,
  `FROM read_csv('http://127.0.0.1:${port}/x.csv')`,
  `ATTACH 'http://127.0.0.1:${port}/x.duckdb' AS h`,
  "FROM read_text('/proc/self/environ')",
  "FROM read_text('/etc/passwd')",
  "LOAD httpfs",
  "INSTALL httpfs",
  `LOAD '${secret}'`,
  "SELECT getenv('PATH')",
];

const INTEGERS = ["0", "-1", "1", "127", "-128", "255", "32767", "2147483647", "-2147483648", "9223372036854775807"];
const WIDE = [...INTEGERS, "(-9223372036854775808)", "18446744073709551615", "170141183460469231731687303715884105727"];
const NUMBERS = ["0.0", "'nan'", "'inf'", "'-inf'", "1e308", "-1e308", "5e-324", "-0.0"];
const TEXTS = [
  "''",
  "'a'",
  "chr(0)",
  "'%s%n%d'",
  "repeat('ab', 70000)",
  "'(((((a*)*)*)*'",
  "chr(128169)",
  "'{}'",
  "'[[[['",
  "'-infinity'",
];
const TIMES = ["'infinity'", "'-infinity'", "'epoch'", "'0001-01-01'", "'290000-01-01'", "'1970-01-01'"];

/** Edge values of a type, as SQL. */
const edgesOf = (type: string): readonly string[] => {
  const cast = (values: readonly string[]) => values.map((value) => `TRY_CAST(${value} AS ${type})`);
  if (/\[\]$|LIST/.test(type))
    return ["[]", "NULL", "[NULL]", "[1, NULL, 3]", "range(100000)", "[[1], []]", "['a', chr(0)]"];
  if (/^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/.test(type)) return cast(WIDE);
  if (/^(FLOAT|DOUBLE|DECIMAL.*)$/.test(type)) return cast([...NUMBERS, ...INTEGERS]);
  if (/^(DATE|TIMESTAMP.*|TIME.*)$/.test(type)) return cast(TIMES);
  if (type === "INTERVAL")
    return ["INTERVAL '2147483647' MONTH", "INTERVAL '-9000000000000' MICROSECOND", "INTERVAL '0' DAY"];
  if (type === "BLOB") return ["''::BLOB", "unhex(repeat('ff', 64))", "unhex('00')"];
  if (type === "BOOLEAN") return ["true", "false", "NULL"];
  if (/^(JSON)$/.test(type))
    return cast(["'{}'", "'[1e999]'", "'null'", `'${'{"a":'.repeat(200)}1${"}".repeat(200)}'`]);
  if (/STRUCT/.test(type)) return ["{'a': NULL}", "{'a': {'b': [1]}}"];
  if (/MAP/.test(type)) return ["MAP {}", "MAP {1: NULL}", "MAP {'a': [1]}"];
  return [...TEXTS, "NULL", "1", "[1]", "{'a': 1}"];
};

interface Called {
  readonly name: string;
  readonly kind: string;
  readonly types: readonly string[];
}

const everyFunction = async (): Promise<readonly Called[]> => {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const result =
    await connection.runAndReadAll(`SELECT function_name, function_type, array_to_string(parameter_types, '\t')
    FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro', 'table') ORDER BY ALL`);
  const found = result.getRows().map(([name, kind, types]) => ({
    name: String(name),
    kind: String(kind),
    types: types === null || types === "" ? [] : String(types).split("\t"),
  }));
  connection.closeSync();
  return found;
};

const callOf = ({ name, kind, types }: Called, random: () => number): string => {
  const pick = <T>(of: readonly T[]): T | undefined => of[Math.floor(random() * of.length)];
  const args = types.map((type) => pick(edgesOf(type)) ?? "NULL");
  if (random() < 0.1) args.push(pick(WIDE) ?? "1");
  const call = `"${name.replaceAll('"', '""')}"(${args.join(", ")})`;
  if (kind === "table") return `FROM ${call} LIMIT 9`;
  if (kind !== "aggregate") return `SELECT ${call}`;
  const form = pick([
    "",
    " OVER ()",
    " OVER (ORDER BY range ROWS BETWEEN 9 PRECEDING AND 1 PRECEDING)",
    " FILTER (range > 1)",
  ]);
  return random() < 0.2 ? `SELECT (${call} EXPORT_STATE) FROM range(3)` : `SELECT ${call}${form} FROM range(3)`;
};

/** All families. `count`: generated statements; the same `seed` makes the same ones. */
export const attackFamilies = async (
  places: { readonly secret: string; readonly folder: string; readonly port: number },
  { count, seed }: { readonly count: number; readonly seed: number },
): Promise<readonly Family[]> => {
  const functions = await everyFunction();
  const random = seededRandom(seed);
  const generated = Array.from({ length: count }, () => {
    const called = functions[Math.floor(random() * functions.length)];
    return called === undefined ? "SELECT 1" : callOf(called, random);
  });
  return [
    { name: "known faults and their kin", statements: FAULTS },
    { name: "files, network, programs", statements: outside(places.secret, places.folder, places.port) },
    { name: "every function with edge values", statements: generated },
  ];
};
