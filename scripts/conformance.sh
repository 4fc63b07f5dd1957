#!/usr/bin/env bash
# Runs both generations of the official conformance suite against examples/conformance.
# Every scenario required of a server has to pass without a warning. `npm run conformance`.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=conformance
results=.conformance # kept after the run, for its logs
server=

stop_server() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
}
trap stop_server EXIT

rm -rf $results && mkdir $results
[ -f dist/cli/main.js ] || npm run build
# npm writes this file last: a newer one means that the locked versions are completely installed.
[ $suite/node_modules/.package-lock.json -nt $suite/package-lock.json ] ||
  npm ci --prefix $suite --no-audit --no-fund --loglevel error

log=$results/server.log
node dist/cli/main.js serve examples/conformance --port 0 >"$log" 2>&1 &
server=$!
until url=$(grep -om1 'http://[^ ]*/mcp' "$log"); do
  kill -0 "$server" 2>/dev/null || { cat "$log" >&2; exit 1; }
  sleep 0.1
done

failed=0
# run NAME GENERATION SCENARIOS ARGUMENTS…
run() {
  local name=$1 generation=$2 scenarios=$3 out=$results/$1
  shift 3
  mkdir "$out"
  node --import "./$suite/shim.mjs" "$suite/node_modules/conformance-$generation/dist/index.js" \
    server --url "$url" "$@" -o "$out" >"$out.log" 2>&1 || failed=1
  node $suite/gate.mjs "$name" "$out" "$scenarios" || failed=1
}

run 2026-07-28 0.2 40 --requirements 2026-07-28
run 2025-11-25 0.2 33 --requirements 2025-11-25
run 2025-all   0.1 32 --suite all
[ $failed = 0 ] || echo "The output of the suite is in $results/*.log" >&2
exit $failed
