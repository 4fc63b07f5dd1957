import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fixtures } from './commands.mjs'

const startTimeoutMs = 60_000

const children = new Set()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(2))

/** @param {'pipe' | 'ignore'} pipes for stdin and stdout */
export const startProcess = (command, pipes) => {
  // Standard error goes to a file: reading a pipe would cost the load generator CPU time.
  const errors = openSync(`${fixtures}/stderr.log`, 'a')
  const child = spawn(process.execPath, command.map(String), { stdio: [pipes, pipes, errors] })
  closeSync(errors)
  children.add(child)
  child.once('exit', (code) => {
    if (!children.delete(child)) return
    const log = readFileSync(`${fixtures}/stderr.log`, 'utf8').slice(-2000)
    console.error(`${command.join(' ')} exited unexpectedly with ${code}:\n${log}`)
    process.exit(2)
  })
  return child
}

export const stopProcess = async (child) => {
  children.delete(child)
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const killTimer = setTimeout(() => child.kill('SIGKILL'), 3000)
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

export const readLine = (child) =>
  new Promise((resolve, reject) => {
    const timeout = setTimeout(
      () => reject(new Error(`${child.spawnargs[1]}: no answer within the timeout.`)),
      startTimeoutMs,
    )
    let text = ''
    const onData = (chunk) => {
      text += chunk
      if (!text.includes('\n')) return
      clearTimeout(timeout)
      child.stdout.off('data', onData)
      resolve(text.slice(0, text.indexOf('\n')))
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

export const residentMegabytes = (pid) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
