// Names of DuckDB 1.5.6 that the gate refuses. A name of a new version is judged by adding it here or to
// src/warehouse/user-sql/gate/check-statement.ts: does it reach a file, the network, other processes or settings, take a raw state, a
// pointer or a serialized statement or value, or run text as SQL?

export const REFUSED_EXPRESSIONS: readonly (string | RegExp)[] = [
  // Raw states, bytes of values, and types as values.
  /^__internal_/,
  /^st_/,
  "combine",
  "finalize",
  "create_sort_key",
  "variant_bytes_to_variant",
  "variant_to_parquet_variant",
  "variant_normalize",
  "variant_extract",
  "variant_typeof",
  "remap_struct",
  "cast_to_type",
  "can_cast_implicitly",
  "get_type",
  "make_type",
  "replace_type",
  "vector_type",
  "stats",
  // Text as SQL, and serialized statements.
  "json_deserialize_sql",
  "json_serialize_plan",
  "json_serialize_sql",
  "current_query",
  // State of the process.
  "currval",
  "nextval",
  "getvariable",
  "current_setting",
  "parse_duckdb_log_message",
  "write_log",
  "pg_sleep",
  "sleep_ms",
];

/** Files, logs, settings, pointers, text as SQL; and what no query of a mirror needs. */
export const REFUSED_TABLE_FUNCTIONS: ReadonlySet<string> = new Set(
  `
    arrow_scan arrow_scan_dumb check_peg_parser checkpoint disable_logging disable_peg_parser disable_profiling
    duckdb_approx_database_count duckdb_connection_count duckdb_coordinate_systems duckdb_databases duckdb_dependencies
    duckdb_extensions duckdb_external_file_cache duckdb_indexes duckdb_log_contexts duckdb_logs duckdb_logs_parsed
    duckdb_memory duckdb_optimizers duckdb_prepared_statements duckdb_profiling_settings duckdb_secret_types duckdb_secrets
    duckdb_sequences duckdb_settings duckdb_table_sample duckdb_temporary_files duckdb_variables enable_logging
    enable_peg_parser enable_profiling force_checkpoint glob histogram histogram_values icu_calendar_names
    json_execute_serialized_sql parquet_bloom_probe parquet_file_metadata parquet_full_metadata parquet_kv_metadata
    parquet_metadata parquet_scan parquet_schema pragma_collations pragma_database_size pragma_metadata_info pragma_platform
    pragma_show pragma_storage_info pragma_user_agent pragma_version query query_table read_blob read_csv read_csv_auto
    read_duckdb read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto
    read_ndjson_objects read_parquet read_text seq_scan sniff_csv sql_auto_complete summary test_all_types test_vector_types
    truncate_duckdb_logs which_secret
`
    .trim()
    .split(/\s+/),
);

export const REFUSED_TYPES: ReadonlySet<string> = new Set(["type", "geometry"]);
