import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import { repository } from './spawn-server.ts'

export interface ChildScript {
  readonly process: ChildProcess
  readonly ended: Promise<number | null>
  stdout(): string
  stderr(): string
  /** Waits until standard output matches; rejects when the process exits first. */
  waitForStdout(pattern: RegExp): Promise<void>
}

/** Runs code in a new process, with `ledger(file)` to open the built ledger like a server. */
export function startScript(code: string, words: readonly string[] = []): ChildScript {
  const ledgerModule = pathToFileURL(`${repository}/dist/runtime/open-ledger.js`)
  const preamble = `
    import { openLedger } from ${JSON.stringify(ledgerModule.href)}
    const ledger = (file) => openLedger({ file, keepRunsMs: 86400000, onError: console.error })
    const words = process.argv.slice(1)
  `
  const child = spawn(
    process.execPath,
    ['--no-warnings', '--input-type=module', '-e', `${preamble}${code}`, ...words],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = once(child, 'close').then(([status]) => status as number | null)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const said = (pattern: RegExp) =>
    new Promise<void>((resolve, reject) => {
      const check = () => pattern.test(stdout) && resolve()
      check()
      child.stdout.on('data', check)
      ended.then(() => reject(new Error(`exited without printing ${pattern}: ${stderr}`)))
    })
  return { process: child, ended, stdout: () => stdout, stderr: () => stderr, waitForStdout: said }
}
