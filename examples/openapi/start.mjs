import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The API on port 4749, and Drawbridge in front of it on 4747. */
const toPath = (name) => fileURLToPath(new URL(name, import.meta.url))
const env = { ...process.env, WORKSHOP_KEY: process.env.WORKSHOP_KEY ?? 'only-for-this-example' }
const start = (...args) => spawn(process.execPath, args, { stdio: 'inherit', env })

const api = start(toPath('api.mjs'))
const gateway = start(toPath('../../dist/cli/main.js'), 'serve', toPath('.'))
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    gateway.kill(signal)
    api.kill(signal)
  })
gateway.on('exit', (code) => {
  api.kill('SIGTERM')
  process.exitCode = code ?? 1
})
