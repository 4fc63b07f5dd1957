import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import os from 'node:os'
import type { ServerProcess } from '../../storage/ledger/processes/process-registry.ts'
import { tryRead } from './system-clocks.ts'

/** This process, as others that share its store see it. */
export const createServerProcess = (): ServerProcess => ({
  processId: randomUUID(),
  pid: process.pid,
  namespace: tryRead(() => readlinkSync('/proc/self/ns/pid')),
  machine: readMachine(),
  isAlive,
  startOf: readStart,
})

/** Both: containers from one image may have the same machine id, but then not the same host name. */
const readMachine = (): string =>
  [os.hostname(), tryRead(() => readFileSync('/etc/machine-id', 'utf8').trim())].join(' ')

/** Signal 0 checks whether a process exists without sending it a signal. It also does for one that has ended unreaped. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !endedStates.has(readStat(pid)?.[0] ?? '')
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Zombies: their parent has not asked for their exit code yet. */
const endedStates: ReadonlySet<string> = new Set(['Z', 'X'])

/** Field 22 of /proc/PID/stat. */
const readStart = (pid: number): string | undefined => readStat(pid)?.[19]

/** The fields of /proc/PID/stat from the third on. The second, the name, may contain spaces and parentheses. */
function readStat(pid: number): readonly string[] | undefined {
  const stat = tryRead(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
}
