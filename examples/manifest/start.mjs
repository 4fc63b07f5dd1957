import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The agent on port 4748, and Drawbridge in front of it on 4747. */
const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const drawbridge = here('../../dist/cli/main.js')
const start = (...words) => spawn(process.execPath, [drawbridge, ...words], { stdio: 'inherit' })

const agent = start('serve', here('library/server.ts'), '--port', '4748')
const front = start('serve', here('.'))
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    front.kill(signal)
    agent.kill(signal)
  })
front.on('exit', (code) => {
  agent.kill('SIGTERM')
  process.exitCode = code ?? 1
})
