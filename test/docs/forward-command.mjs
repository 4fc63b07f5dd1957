// node forward-command.mjs SOCKET ARGS…: has a `drawbridge` command executed by the process that listens
// on the socket, with this process's folder, environment and input. Starts ten times as fast as the CLI.
import { connect } from 'node:net'
import { json, text } from 'node:stream/consumers'

const [path, ...args] = process.argv.slice(2)
const input = await text(process.stdin)
const socket = connect(path)
socket.write(`${JSON.stringify({ args, cwd: process.cwd(), env: process.env, input })}\n`)
const { code, stdout, stderr } = await json(socket)
process.stdout.write(stdout)
process.stderr.write(stderr)
process.exitCode = code ?? 1
