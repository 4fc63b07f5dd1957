import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fixtures } from './paths.mjs'

// Long, because a busy machine must not end a run of half an hour.
const startTimeoutMs = 180_000
// A server that is killed leaves a ledger whose next start is slower.
const stopTimeoutMs = 30_000

const children = new Set()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(2))

/**
 * A process that runs until it is stopped.
 *
 * @param {'pipe' | 'ignore'} pipes for stdin and stdout
 * @param {'ipc'} [channel] for contestants with a probe
 */
export const startProcess = (command, pipes, channel) => {
  const child = spawnNode(command, pipes, channel)
  child.once('exit', (code) => {
    if (!children.delete(child)) return
    console.error(`${command.join(' ')} exited unexpectedly with ${code}:\n${readErrors()}`)
    process.exit(2)
  })
  return child
}

/** Runs a command to its end; the time is that from spawn to exit. */
export const runProcess = async (command) => {
  const spawnedAt = performance.now()
  const child = spawnNode(command, 'pipe')
  child.stdin.end()
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  let milliseconds
  child.once('exit', () => {
    milliseconds = performance.now() - spawnedAt
    children.delete(child)
  })
  const [code] = await once(child, 'close')
  if (code !== 0)
    throw new Error(`${command.join(' ')} ended with ${code}:\n${stdout}\n${readErrors()}`)
  return { stdout, milliseconds }
}

const errorFile = `${fixtures}/stderr.log`
const readErrors = () => readFileSync(errorFile, 'utf8').slice(-2000)

const spawnNode = (command, pipes, channel) => {
  // Standard error goes to a file: reading a pipe would cost the load generator CPU time.
  const errors = openSync(errorFile, 'a')
  const stdio = [pipes, pipes, errors, ...(channel ? [channel] : [])]
  const child = spawn(process.execPath, command.map(String), { stdio })
  closeSync(errors)
  children.add(child)
  return child
}

export const stopProcess = async (child, signal = 'SIGTERM') => {
  children.delete(child)
  const exited = once(child, 'exit')
  child.kill(signal)
  const killTimer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
  await exited
  clearTimeout(killTimer)
}

export const findFreePort = async () => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  return port
}

export const waitUntilListening = async (child, port) => {
  const deadline = performance.now() + startTimeoutMs
  while (performance.now() < deadline) {
    const socket = connect({ port, host: '127.0.0.1' })
    const isListening = await once(socket, 'connect').catch(() => false)
    socket.destroy()
    if (isListening) return
    await sleep(50)
  }
  throw new Error(`${child.spawnargs.join(' ')} does not listen.`)
}

/** The next line that `isWanted`; lines before it, such as the answer to a handshake, are dropped. */
export const readLine = (child, isWanted = () => true) =>
  new Promise((resolve, reject) => {
    const timeout = setTimeout(
      () => reject(new Error(`${child.spawnargs.join(' ')}: no answer within the timeout.`)),
      startTimeoutMs,
    )
    let text = ''
    const onData = (chunk) => {
      text += chunk
      const lines = text.split('\n')
      text = lines.pop()
      const line = lines.find(isWanted)
      if (line === undefined) return
      clearTimeout(timeout)
      child.stdout.off('data', onData)
      resolve(line)
    }
    child.stdout.on('data', onData)
  })

/** User and system time of all threads, read from /proc: contestants need no instrumentation. */
export const cpuSeconds = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the command in parentheses and may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/**
 * The same in nanoseconds instead of ticks of 10 ms, for the short time of a start. Threads that have
 * ended are not included.
 */
export const cpuMilliseconds = (pid) =>
  readdirSync(`/proc/${pid}/task`)
    .map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'))
    .reduce((sum, text) => sum + Number(text.split(' ')[0]) / 1e6, 0)

export const residentMegabytes = (pid) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
