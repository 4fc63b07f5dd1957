#!/usr/bin/env bash
# Tests the server with an independent client: the command line of MCP Inspector lists and calls
# tools over both transports and in both protocol eras. `npm run inspector`.
set -euo pipefail
cd "$(dirname "$0")/.."

home=$PWD/.inspector
log=$home/server.log
server=
stop_server() { [ -z "$server" ] || kill "$server" 2>/dev/null || true; }
trap stop_server EXIT

mkdir -p "$home"
[ -f dist/cli/main.js ] || npm run build
# No lock file: some platform packages cannot be locked.
[ -d "$home/node_modules/@modelcontextprotocol/inspector" ] ||
  npm install --prefix "$home" --no-package-lock --no-audit --no-fund --loglevel error \
    @modelcontextprotocol/inspector@2.12.0

node dist/cli/main.js serve examples/definitions --port 0 >"$log" 2>&1 &
server=$!
until url=$(grep -om1 'http://[^ ]*/mcp' "$log"); do
  kill -0 "$server" 2>/dev/null || { cat "$log" >&2; exit 1; }
  sleep 0.1
done

cat >"$home/servers.json" <<JSON
{ "mcpServers": {
  "http-2026": { "type": "streamable-http", "url": "$url", "protocolEra": "modern" },
  "http-2025": { "type": "streamable-http", "url": "$url", "protocolEra": "legacy" },
  "stdio-2026": { "command": "node", "args": ["$PWD/dist/cli/main.js", "serve", "$PWD/examples/definitions", "--stdio"], "protocolEra": "modern" },
  "stdio-2025": { "command": "node", "args": ["$PWD/dist/cli/main.js", "serve", "$PWD/examples/definitions", "--stdio"], "protocolEra": "legacy" }
} }
JSON

inspect() {
  HOME=$home MCP_INSPECTOR_SECRET_STORE=memory \
    node "$home/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js" \
    --cli --config "$home/servers.json" --server "$1" --format json "${@:2}" 2>>"$home/inspector.log"
}

for name in http-2026 http-2025 stdio-2026 stdio-2025; do
  inspect $name --method tools/list | grep -q '"roll_dice"'
  inspect $name --method tools/call --tool-name convert_units \
    --tool-args-json '{"value":1,"from":"mile","to":"foot"}' |
    grep -q '"structuredContent":{"value":5280,"unit":"foot"}'
  echo "inspector, $name: tools/list and tools/call passed"
done
