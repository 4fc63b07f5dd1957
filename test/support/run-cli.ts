import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { type Finished, maxRunMs, runInHost } from './cli-host.ts'

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Standard input; empty by default. */
  readonly input?: string
}

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
  const { child, exited, stdout, stderr } = start(args, options)
  const deadline = setTimeout(() => child.kill('SIGKILL'), maxRunMs)
  child.stdin.end(input)
  const code = await exited
  clearTimeout(deadline)
  return { code, stdout: stdout(), stderr: stderr() }
}

/** Inherits only PATH: a developer's home, tokens and log level must not affect tests. */
export const toEnvironment = (env: Readonly<Record<string, string>>): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: os.tmpdir(),
  TERM: 'xterm',
  ...env,
})

export interface Started {
  readonly process: ChildProcessWithoutNullStreams
  readonly exited: Promise<number | null>
  stdout(): string
  stderr(): string
  /** Waits until standard error matches; rejects when the process exits first. */
  waitForStderr(pattern: RegExp): Promise<RegExpMatchArray>
}

/** Starts a `drawbridge` command; it is killed when the test ends. */
export function startDrawbridge(args: readonly string[], options: StartOptions = {}): Started {
  const { child, exited, stdout, stderr } = start(args, options)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const said = (pattern: RegExp): Promise<RegExpMatchArray> =>
    new Promise((resolve, reject) => {
      const check = () => {
        const match = stderr().match(pattern)
        if (match) resolve(match)
        return match
      }
      if (check()) return
      child.stderr.on('data', check)
      exited.then(
        () => check() ?? reject(new Error(`exited without printing ${pattern}: ${stderr()}`)),
      )
    })
  return { process: child, exited, stdout, stderr, waitForStderr: said }
}

type StartOptions = Omit<RunOptions, 'input'>

function start(args: readonly string[], { cwd = os.tmpdir(), env = {} }: StartOptions) {
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: toEnvironment(env),
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  // The process may exit before it has read its input: EPIPE.
  child.stdin.on('error', () => {})
  const exited = once(child, 'close').then(([code]) => code as number | null)
  return { child, exited, stdout: () => stdout, stderr: () => stderr }
}

export interface Serving extends Started {
  /** The printed URL. */
  readonly url: string
}

/** Starts `drawbridge serve` on a free port, and waits until it is ready. */
export async function startServing(
  args: readonly string[],
  options: StartOptions = {},
): Promise<Serving> {
  const started = startDrawbridge(['serve', ...args, '--port', '0'], options)
  const [, url = ''] = await started.waitForStderr(/(http:\/\/\S+\/mcp)\b/)
  return { ...started, url }
}

const main = path.resolve('dist/cli/main.js')
