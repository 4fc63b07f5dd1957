import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fixtures } from './commands.mjs'

const patience = 60_000

const running = new Set()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(2))

/** @param {'pipe' | 'ignore'} pipes for stdin and stdout */
export const start = (command, pipes) => {
  // To a file: a pipe would make the load generator pay for what a server logs.
  const errors = openSync(`${fixtures}/stderr.log`, 'a')
  const child = spawn(process.execPath, command.map(String), { stdio: [pipes, pipes, errors] })
  closeSync(errors)
  running.add(child)
  child.once('exit', (code) => {
    if (!running.delete(child)) return
    const said = readFileSync(`${fixtures}/stderr.log`, 'utf8').slice(-2000)
    console.error(`${command.join(' ')} ended by itself with ${code}:\n${said}`)
    process.exit(2)
  })
  return child
}

export const stop = async (child) => {
  running.delete(child)
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const hard = setTimeout(() => child.kill('SIGKILL'), 3000)
  await gone
  clearTimeout(hard)
}

export const freePort = async () => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  return port
}

export const listening = async (child, port) => {
  const until = performance.now() + patience
  while (performance.now() < until) {
    const socket = connect({ port, host: '127.0.0.1' })
    const connected = await once(socket, 'connect').catch(() => false)
    socket.destroy()
    if (connected) return
    await sleep(50)
  }
  throw new Error(`${child.spawnargs.join(' ')} does not listen`)
}

export const firstLine = (child) =>
  new Promise((resolve, reject) => {
    const slow = setTimeout(() => reject(new Error(`${child.spawnargs[1]}: no answer`)), patience)
    let text = ''
    const onData = (chunk) => {
      text += chunk
      if (!text.includes('\n')) return
      clearTimeout(slow)
      child.stdout.off('data', onData)
      resolve(text.slice(0, text.indexOf('\n')))
    }
    child.stdout.on('data', onData)
  })

/** User and system time of all threads, from outside: no contestant needs instruments. */
export const cpuSeconds = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the command in parentheses and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

export const residentMegabytes = (pid) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
