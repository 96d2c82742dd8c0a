-- Purpose: a CSV's rows as text. Grain: one row per line. Parameters: $1 path. Readers: src/cli/options/company-inputs.ts.
FROM read_csv($1, all_varchar = true, header = true, null_padding = true);
