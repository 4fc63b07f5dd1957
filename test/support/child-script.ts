import { pathToFileURL } from 'node:url'
import { onTestFinished } from 'vitest'
import { repository } from './spawn-server.ts'
import { type StartedProcess, startProcess } from './start-process.ts'

/** Runs code in a new process, with `ledger(file)` to open the built ledger like a server. */
export function startScript(code: string, scriptArgs: readonly string[] = []): StartedProcess {
  const ledgerModule = pathToFileURL(`${repository}/dist/runtime/store/open-ledger.js`)
  const preamble = `
    import { openLedger } from ${JSON.stringify(ledgerModule.href)}
    const ledger = (file) => openLedger({ file, keepRunsMs: 86400000, onError: console.error, onWarning: console.error })
    const args = process.argv.slice(1)
  `
  const program = `${preamble}${code}`
  const started = startProcess(
    ['--no-warnings', '--input-type=module', '-e', program, ...scriptArgs],
    { cwd: repository },
  )
  started.process.stdin.end()
  onTestFinished(async () => {
    started.process.kill('SIGKILL')
    await started.exited
  })
  return started
}
