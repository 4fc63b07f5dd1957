// Runs `dist/cli/main.js` repeatedly in one process, because starting Node and importing modules costs
// more than most commands. Protocol: one IPC message per run; its exit code is written as a marker to
// both streams, so that a marker comes after all output of its run.
import { Readable } from 'node:stream'

const [main] = process.argv.slice(2)
const { stdout, stderr } = process
const initialListeners = new Map(
  process.eventNames().map((name) => [name, process.listeners(name)]),
)
let runs = 0

process.on('message', async ({ args, cwd, env, input, marker }) => {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.argv = [process.execPath, main, ...args]
  const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)])
  Object.defineProperty(process, 'stdin', { value: stdin, configurable: true })
  process.exitCode = undefined
  let hasEnded = false
  process.exit = (code = process.exitCode ?? 0) => {
    if (hasEnded) return
    hasEnded = true
    removeListeners()
    for (const stream of [stdout, stderr]) stream.write(`${marker}${code}\n`)
  }
  try {
    // The query creates a new module: only the entry point is evaluated again.
    await import(`${main}?run=${runs++}`)
  } catch (error) {
    stderr.write(`${error?.stack ?? error}\n`)
    process.exit(1)
  }
})

/** Commands leave signal handlers behind, since their process normally exits. */
function removeListeners() {
  for (const name of process.eventNames())
    for (const listener of process.listeners(name))
      if (
        name !== 'message' &&
        name !== 'disconnect' &&
        !initialListeners.get(name)?.includes(listener)
      )
        process.off(name, listener)
}

const { exit } = process
process.on('disconnect', () => exit.call(process, 0))
process.send('ready')
