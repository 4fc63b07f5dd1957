import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { createServerProcess } from '../../src/runtime/store/server-process.ts'
import { eventually } from '../support/eventually.ts'

test.runIf(existsSync('/proc/self/stat'))(
  'a process that has ended, but was not reaped by its parent, is not alive',
  async () => {
    const { isAlive } = createServerProcess()
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'])
    onTestFinished(() => void parent.kill())
    const [line] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(line.toString())

    // The shell itself would reap it.
    await eventually(() =>
      expect(readFileSync(`/proc/${parent.pid}/comm`, 'utf8').trim()).toBe('sleep'),
    )
    const before = isAlive(pid)
    process.kill(pid, 'SIGKILL')

    expect(before).toBe(true)
    await eventually(() => expect(isAlive(pid)).toBe(false))
    expect(existsSync(`/proc/${pid}`)).toBe(true)
  },
)
