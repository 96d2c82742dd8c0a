#!/usr/bin/env bash
# End to end through the built program: a demo, a query on its mirror, a plan, a second sync against a sandbox.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
sandbox=""
finish() {
  [ -z "$sandbox" ] || { kill "$sandbox" && wait "$sandbox"; } 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
cd "$work"
duckmirror() { node "$root/dist/src/cli/main.js" "$@"; }
say() { printf 'smoke: %s\n' "$*"; }

duckmirror demo --quiet --json >demo.json
[ "$(duckmirror query --data-dir data/demo --format csv 'select count(*) from accounts' | tail -1 | tr -d '\r')" = 40 ]
say "demo mirrors 40 accounts"

# Not through the function: killing its shell would leave the program running.
node "$root/dist/src/cli/main.js" sandbox --accounts 5 --port 0 --rate 6000 --json >sandbox.json &
sandbox=$!
for _ in $(seq 100); do [ -s sandbox.json ] && break; read -rt 0.1 <> <(:) || true; done
DUCKMIRROR_BASE_URL=$(node -p 'JSON.parse(require("fs").readFileSync("sandbox.json")).url')
DUCKMIRROR_TOKEN=$(node -p 'JSON.parse(require("fs").readFileSync("sandbox.json")).token')
export DUCKMIRROR_BASE_URL DUCKMIRROR_TOKEN DUCKMIRROR_RATE_LIMIT=6000
duckmirror check --json >check.json
code=0
duckmirror sync --max-credits 4 --quiet --json >first.json || code=$?
[ "$code" = 4 ]
duckmirror sync --quiet --json >second.json
duckmirror sync --quiet --json >third.json
node -e '
  const report = (name) => JSON.parse(require("fs").readFileSync(name, "utf8"));
  const third = report("third.json");
  if (report("first.json").credits.spent !== 4) throw new Error("the budget was not kept");
  if (third.status !== "done" || third.credits.spent !== 3) throw new Error(`an unchanged sync cost ${third.credits.spent}`);
'
say "budget kept, exit code 4, an unchanged sync costs 3 credits"
duckmirror status --json >status.json
duckmirror plan --json >plan.json
code=0
DUCKMIRROR_TOKEN=wrong duckmirror sync --quiet 2>/dev/null || code=$?
[ "$code" = 3 ]
say "wrong token: exit code 3"
