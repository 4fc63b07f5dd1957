import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { type Finished, maxRunMs, runInHost } from './cli-host.ts'
import {
  type ProcessOptions,
  type StartedProcess,
  startProcess,
  toEnvironment,
} from './start-process.ts'

export interface RunOptions extends ProcessOptions {
  /** Standard input; empty by default. */
  readonly input?: string
}

/** The built program. */
export const main = path.resolve('dist/cli/main.js')

/**
 * Runs a `drawbridge` command until it exits, in a process shared by this test file: see
 * `cli-host.mjs`. A command that does not exit is killed, and its code is null.
 */
export const drawbridge = (
  args: readonly string[],
  { cwd = os.tmpdir(), env = {}, input = '' }: RunOptions = {},
): Promise<Finished> => runInHost({ args, cwd, env: toEnvironment(env), input })

/** Runs a command in a process of its own, like a user. */
export async function drawbridgeProcess(
  args: readonly string[],
  { input = '', ...options }: RunOptions = {},
): Promise<Finished> {
  const { process, exited, stdout, stderr } = startProcess([main, ...args], options)
  const deadline = setTimeout(() => process.kill('SIGKILL'), maxRunMs)
  process.stdin.end(input)
  const code = await exited
  clearTimeout(deadline)
  return { code, stdout: stdout(), stderr: stderr() }
}

/** Starts a `drawbridge` command; it is killed when the test ends. */
export function startDrawbridge(
  args: readonly string[],
  options: ProcessOptions = {},
): StartedProcess {
  const started = startProcess([main, ...args], options)
  onTestFinished(async () => {
    started.process.kill('SIGKILL')
    await started.exited
  })
  return started
}

export interface Serving extends StartedProcess {
  /** The printed URL. */
  readonly url: string
}

/** Starts `drawbridge serve` on a free port, and waits until it is ready. */
export async function startServing(
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<Serving> {
  return toServing(startDrawbridge(['serve', ...args, '--port', '0'], options))
}

/** Waits until a started `drawbridge serve` prints its URL. */
export async function toServing(started: StartedProcess): Promise<Serving> {
  const [, url = ''] = await started.waitForOutput(/(http:\/\/\S+\/mcp)\b/)
  return { ...started, url }
}
