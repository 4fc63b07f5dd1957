// Runs `dist/cli/main.js` again and again in one process: starting Node and importing everything costs
// more than most verbs do. Protocol: one IPC message per run; its exit code is written as a marker to
// both streams, so that a marker comes after all output of its run.
import { Readable } from 'node:stream'

const [main] = process.argv.slice(2)
const { stdout, stderr } = process
const pristine = new Map(process.eventNames().map((name) => [name, process.listeners(name)]))
let runs = 0

process.on('message', async ({ words, cwd, env, input, marker }) => {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.argv = [process.execPath, main, ...words]
  const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)])
  Object.defineProperty(process, 'stdin', { value: stdin, configurable: true })
  process.exitCode = undefined
  let hasEnded = false
  process.exit = (code = process.exitCode ?? 0) => {
    if (hasEnded) return
    hasEnded = true
    forgetListeners()
    for (const stream of [stdout, stderr]) stream.write(`${marker}${code}\n`)
  }
  try {
    // A query makes it another module: only the entry point itself is evaluated again.
    await import(`${main}?run=${runs++}`)
  } catch (error) {
    stderr.write(`${error?.stack ?? error}\n`)
    process.exit(1)
  }
})

/** Signal handlers and the like that a verb leaves to the end of its process. */
function forgetListeners() {
  for (const name of process.eventNames())
    for (const listener of process.listeners(name))
      if (name !== 'message' && name !== 'disconnect' && !pristine.get(name)?.includes(listener))
        process.off(name, listener)
}

const { exit } = process
process.on('disconnect', () => exit.call(process, 0))
process.send('ready')
