#!/usr/bin/env bash
# Runs the dbt project for real: a generated service, mirrored, then dbt build, source freshness and docs over it, and
# the recipes for pandas, polars and DuckDB's Python client. Needs Python 3.10+; never part of npm test.
# Usage: docs/integrations/dbt/run.sh [work directory]
set -euo pipefail
cd "$(dirname "$0")"
work=$(realpath "${1:-$(mktemp -d)}")
root=$(realpath ../../..)
duckmirror() { (cd "$root" && node --import tsx src/cli/main.ts "$@"); }

if [ ! -x "$work/venv/bin/dbt" ]; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install -q -r requirements.txt duckdb-cli pandas polars pyarrow pytz
fi

rm -f "$work/sandbox.json"
# exec: so that the id in $! is that of the service itself, to end it by.
(cd "$root" && exec node --import tsx src/cli/main.ts sandbox --json --accounts 25) >"$work/sandbox.json" 2>"$work/sandbox.log" &
sandbox=$!
trap 'kill $sandbox 2>/dev/null || true' EXIT
until [ -s "$work/sandbox.json" ]; do kill -0 $sandbox; sleep 0.2; done
read -r url token < <(python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(d["url"], d["token"])' "$work/sandbox.json")
export DUCKMIRROR_BASE_URL=$url DUCKMIRROR_TOKEN=$token DUCKMIRROR_DATA_DIR="$work/data"
duckmirror sync --quiet
duckmirror export --quiet --tables main,marts

export DUCKMIRROR_SNAPSHOT="$work/data/warehouse.duckdb" DUCKMIRROR_DBT_FILE="$work/dbt.duckdb" DBT_PROFILES_DIR=$PWD
dbt() { "$work/venv/bin/dbt" --no-use-colors "$@" --target-path "$work/target" --log-path "$work/logs"; }
export DBT_SEND_ANONYMOUS_USAGE_STATS=false
dbt source freshness
dbt build
dbt docs generate
# The worker goes on while dbt holds the snapshot open: neither waits for the other.
dbt build &
build=$!
duckmirror sync --full --quiet
wait $build

for recipe in ../recipes/*.py; do
  echo "== $recipe"
  "$work/venv/bin/python" "$recipe" "$work/data"
done

"$work/venv/bin/duckdb" -readonly "$DUCKMIRROR_SNAPSHOT" "SET TimeZone = 'UTC'; FROM marts.account_360 SELECT account_name, main_score LIMIT 5"
"$work/venv/bin/duckdb" -c "SELECT type, count(*) FROM read_parquet('$work/data/export/signals/*/*.parquet') GROUP BY ALL"
