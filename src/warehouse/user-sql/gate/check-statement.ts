// Checks a user's statement on DuckDB's own parse of it, before anything binds: one statement that reads, with the functions and types that
// are listed (generated list; the program's own macros and views, too), and without the offsets and constants that crash the engine. The fence
// holds without this; the gate keeps known faults of the engine away from users' SQL.
import type { DuckDBConnection } from "@duckdb/node-api";

// THE lists of functions and types that a user's SQL may name: those of DuckDB (`duckdb_functions()`, `duckdb_types()`)
// that reach nothing outside, take no raw state, pointer or serialized statement, and run no text as SQL. Every other
// name is refused; a test lists what a new version of DuckDB brings.

const listed = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((name) => name !== ""));

/** Functions, aggregates and macros in an expression; operators among them. */
export const EXPRESSIONS = listed(`
  !__postfix !~~ !~~* % & && * ** + - ->> / // <-> << <=> <@ >> @ @> ^ ^@ | || ~ ~~ ~~* ~~~
  abs acos acosh add age aggregate ago alias any_value apply approx_count_distinct approx_quantile approx_top_k arbitrary
  arg_max arg_max_null arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg array_aggr
  array_aggregate array_append array_apply array_cat array_concat array_contains array_cosine_distance array_cosine_similarity
  array_cross_product array_distance array_distinct array_dot_product array_extract array_filter array_grade_up array_has
  array_has_all array_has_any array_indexof array_inner_product array_intersect array_length array_negative_dot_product
  array_negative_inner_product array_pop_back array_pop_front array_position array_prepend array_push_back array_push_front
  array_reduce array_resize array_reverse array_reverse_sort array_select array_slice array_sort array_to_json array_to_string
  array_to_string_comma_default array_transform array_unique array_value array_where array_zip ascii asin asinh atan atan2
  atanh avg bar base64 bin bit_and bit_count bit_length bit_or bit_position bit_xor bitstring bitstring_agg bool_and bool_or
  cardinality cbrt ceil ceiling century char_length character_length chr col_description concat concat_ws constant_or_null
  contains corr cos cosh cot count count_if count_star countif covar_pop covar_samp cume_dist current_catalog
  current_connection_id current_database current_date current_localtime current_localtimestamp current_query_id current_role
  current_schema current_schemas current_transaction_id current_user damerau_levenshtein date_add date_diff date_part date_sub
  date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month decade decode
  degrees dense_rank divide editdist3 element_at encode ends_with entropy enum_code enum_first enum_last enum_range
  enum_range_boundary epoch epoch_ms epoch_ns epoch_us equi_width_bins era error even exp factorial favg fdiv fill filter
  first first_value flatten floor fmod format formatreadabledecimalsize formatreadablesize format_bytes format_pg_type
  format_type from_base64 from_binary from_hex from_json from_json_strict fsum gamma gcd gen_random_uuid generate_series
  generate_subscripts geomean geometric_mean get_bit get_block_size get_current_time get_current_timestamp grade_up greatest
  greatest_common_divisor group_concat hamming has_any_column_privilege has_column_privilege has_database_privilege
  has_foreign_data_wrapper_privilege has_function_privilege has_language_privilege has_schema_privilege has_sequence_privilege
  has_server_privilege has_table_privilege has_tablespace_privilege hash hex histogram histogram_exact hour icu_sort_key
  ilike_escape in_search_path inet_client_addr inet_client_port inet_server_addr inet_server_port instr is_histogram_other_bin
  isfinite isinf isnan isodow isoyear jaccard jaro_similarity jaro_winkler_similarity json json_array json_array_length
  json_contains json_exists json_extract json_extract_path json_extract_path_text json_extract_string json_group_array
  json_group_object json_group_structure json_keys json_merge_patch json_object json_pretty json_quote json_structure
  json_transform json_transform_strict json_type json_valid json_value julian kahan_sum kurtosis kurtosis_pop lag last
  last_day last_value lcase lcm lead least least_common_multiple left left_grapheme len length length_grapheme levenshtein
  lgamma like_escape list list_aggr list_aggregate list_any_value list_append list_apply list_approx_count_distinct list_avg
  list_bit_and list_bit_or list_bit_xor list_bool_and list_bool_or list_cat list_concat list_contains list_cosine_distance
  list_cosine_similarity list_count list_distance list_distinct list_dot_product list_element list_entropy list_extract
  list_filter list_first list_grade_up list_has list_has_all list_has_any list_histogram list_indexof list_inner_product
  list_intersect list_kurtosis list_kurtosis_pop list_last list_mad list_max list_median list_min list_mode
  list_negative_dot_product list_negative_inner_product list_pack list_position list_prepend list_product list_reduce
  list_resize list_reverse list_reverse_sort list_select list_sem list_skewness list_slice list_sort list_stddev_pop
  list_stddev_samp list_string_agg list_sum list_transform list_unique list_value list_var_pop list_var_samp list_where
  list_zip listagg ln log log10 log2 lower lpad ltrim mad make_date make_time make_timestamp make_timestamp_ms
  make_timestamp_ns make_timestamptz map map_concat map_contains map_contains_entry map_contains_value map_entries map_extract
  map_extract_value map_from_entries map_keys map_to_pg_oid map_values max max_by md5 md5_number md5_number_lower
  md5_number_upper mean median microsecond millennium millisecond min min_by minute mismatches mod mode month monthname
  multiply nanosecond nextafter nfc_normalize normalized_interval not_ilike_escape not_like_escape now nth_value ntile nullif
  obj_description octet_length ord parse_dirname parse_dirpath parse_filename parse_formatted_bytes parse_path percent_rank
  pg_collation_is_visible pg_conf_load_time pg_conversion_is_visible pg_function_is_visible pg_get_constraintdef pg_get_expr
  pg_get_viewdef pg_has_role pg_is_other_temp_schema pg_my_temp_schema pg_opclass_is_visible pg_operator_is_visible
  pg_opfamily_is_visible pg_postmaster_start_time pg_size_pretty pg_table_is_visible pg_ts_config_is_visible
  pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible pg_typeof pi position pow power
  prefix printf product quantile quantile_cont quantile_disc quarter radians random range rank rank_dense reduce regexp_escape
  regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array
  regexp_split_to_table regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat
  replace reservoir_quantile reverse right right_grapheme round round_even roundbankers row row_number row_to_json rpad rtrim
  second sem session_user set_bit setseed sha1 sha256 shobj_description sign signbit sin sinh skewness split split_part sqrt
  starts_with stddev stddev_pop stddev_samp str_split str_split_regex strftime string_agg string_split string_split_regex
  string_to_array strip_accents strlen strpos strptime struct_concat struct_contains struct_extract struct_extract_at
  struct_has struct_indexof struct_insert struct_keys struct_pack struct_position struct_update struct_values substr substring
  substring_grapheme subtract suffix sum sum_no_overflow sumkahan switch tan tanh time_bucket timetz_byte_comparable timezone
  timezone_hour timezone_minute to_base to_base64 to_binary to_centuries to_days to_decades to_hex to_hours to_json
  to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years
  today transaction_timestamp translate trim trunc try_strptime txid_current typeof ucase unbin unhex unicode union_extract
  union_tag union_value unpivot_list upper url_decode url_encode user uuid uuid_extract_timestamp uuid_extract_version uuidv4
  uuidv7 var_pop var_samp variance version wavg week weekday weekofyear weighted_avg xor year yearweek
`);

/** Expressions of the binder that look like functions. */
export const BINDER_FUNCTIONS = new Set(["unnest", "unlist"]);

/** Names of collations follow a pattern. */
export const COLLATIONS = /^icu_collate_[a-z_]+$/;

/** Functions in place of a table. */
export const TABLE_FUNCTIONS = listed(`
  duckdb_columns duckdb_constraints duckdb_functions duckdb_keywords duckdb_schemas duckdb_tables duckdb_types duckdb_views
  generate_series json_each json_tree pg_timezone_names pragma_table_info range repeat repeat_row unnest
`);

/** DuckDB's own views over functions that are not listed: they show paths, settings and statements. */
export const REFUSED_VIEWS = listed(
  "duckdb_databases duckdb_logs pg_prepared_statements pg_settings pragma_database_list",
);

/** Names of types. */
export const TYPE_NAMES = new Set([
  ...listed(`
  array binary bit bitstring blob bpchar datetime dec enum float4 guid hugeint int int1 int16 int64 int8 integral interval
  list long map null numeric nvarchar oid real row short signed struct timestamptz timestamp_s timestamp_us uint128 uint16
  uint64 uint8 uinteger utinyint uuid varbinary variant varint bigint bignum bool boolean bytea char date decimal double float
  float8 int128 int2 int32 int4 integer logical smallint string text time timestamp timestamp_ms timestamp_ns timetz time_ns
  tinyint ubigint uhugeint uint32 union usmallint varchar json
`),
  "time with time zone",
  "timestamp with time zone",
]);

/** Types as the parser names them, once it knows them. `UNBOUND` has a name of its own. */
export const TYPE_IDS = new Set([
  ...listed(`
  NULL UNBOUND BOOLEAN TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER UBIGINT HUGEINT UHUGEINT FLOAT DOUBLE
  DECIMAL BIGNUM VARCHAR CHAR BLOB DATE TIME TIME_NS TIMESTAMP TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS INTERVAL UUID BIT
  LIST ARRAY STRUCT MAP UNION ENUM VARIANT INTEGER_LITERAL STRING_LITERAL
`),
  "TIMESTAMP WITH TIME ZONE",
  "TIME WITH TIME ZONE",
]);

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
