#!/bin/sh
# One run of tap and target, with the state kept as the Singer specification says: the target prints what it has written,
# the last line is the state of the next run; after a crash, the last line that was printed.
# Environment: PEER_URL, PEER_TOKEN, PEER_DIR, PEER_LISTS, PEER_PAGE; PEER_TAP and PEER_TARGET: the two pythons' folders.
set -eu
here=$(dirname "$0")
cd "$PEER_DIR"
# A warning per contact without a date of change would be most of the run's output.
export TAP_ACCOUNT_INTELLIGENCE_LOGLEVEL=ERROR
cat > tap.json <<JSON
{"api_url": "$PEER_URL", "token": "$PEER_TOKEN", "per_page": $PEER_PAGE, "lists": "$PEER_LISTS"}
JSON
cat > target.json <<JSON
{"path": "$PEER_DIR/peer.duckdb", "default_target_schema": "main", "temp_dir": "$PEER_DIR", "batch_size_rows": 100000}
JSON
state=""
if [ -s states.jsonl ]; then
  tail -n 1 states.jsonl > state.json
  state="--state state.json"
fi
# tracked_companies is read for its children only.
"$PEER_TAP/bin/python" "$here/tap.py" --config tap.json --discover |
  "$PEER_TAP/bin/python" "$here/deselect.py" > catalog.json
# shellcheck disable=SC2086
"$PEER_TAP/bin/python" "$here/tap.py" --config tap.json --catalog catalog.json $state |
  "$PEER_TARGET/bin/target-duckdb" --config target.json >> states.jsonl
