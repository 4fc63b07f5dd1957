import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The agent on port 4748, and Drawbridge in front of it on 4747. */
const toPath = (name) => fileURLToPath(new URL(name, import.meta.url))
const drawbridge = toPath('../../dist/cli/main.js')
const start = (...args) => spawn(process.execPath, [drawbridge, ...args], { stdio: 'inherit' })

const agent = start('serve', toPath('library/server.ts'), '--port', '4748')
const gateway = start('serve', toPath('.'))
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    gateway.kill(signal)
    agent.kill(signal)
  })
gateway.on('exit', (code) => {
  agent.kill('SIGTERM')
  process.exitCode = code ?? 1
})
