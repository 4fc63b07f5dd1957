import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { type Finished, maxRunMs, runInHost } from './cli-host.ts'

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** What is on standard input; nothing where absent. */
  readonly input?: string
}

/**
 * `drawbridge …`, as a user types it, until it ends, in a process that this test file shares: see
 * `cli-host.mjs`. One that does not end is killed: its code is null.
 */
export const drawbridge = (
  words: readonly string[],
  { cwd = os.tmpdir(), env = {}, input = '' }: RunOptions = {},
): Promise<Finished> => runInHost({ words, cwd, env: toEnvironment(env), input })

/** The same in a process of its own, as users start it. */
export async function drawbridgeProcess(
  words: readonly string[],
  { input = '', ...options }: RunOptions = {},
): Promise<Finished> {
  const { child, exited, stdout, stderr } = start(words, options)
  const deadline = setTimeout(() => child.kill('SIGKILL'), maxRunMs)
  child.stdin.end(input)
  const code = await exited
  clearTimeout(deadline)
  return { code, stdout: stdout(), stderr: stderr() }
}

/** Nothing of whoever runs the tests: their home, their tokens, their log level. */
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
  /** Waits until standard error matches, and gives the match; fails when the process ends first. */
  said(pattern: RegExp): Promise<RegExpMatchArray>
}

/** `drawbridge …` while it runs; killed with the test if it is still there. */
export function startDrawbridge(words: readonly string[], options: StartOptions = {}): Started {
  const { child, exited, stdout, stderr } = start(words, options)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const said = (pattern: RegExp): Promise<RegExpMatchArray> =>
    new Promise((resolve, reject) => {
      const look = () => {
        const match = stderr().match(pattern)
        if (match) resolve(match)
        return match
      }
      if (look()) return
      child.stderr.on('data', look)
      exited.then(() => look() ?? reject(new Error(`ended without saying ${pattern}: ${stderr()}`)))
    })
  return { process: child, exited, stdout, stderr, said }
}

type StartOptions = Omit<RunOptions, 'input'>

function start(words: readonly string[], { cwd = os.tmpdir(), env = {} }: StartOptions) {
  const child = spawn(process.execPath, [main, ...words], {
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
  // It may end before it has read what it is sent.
  child.stdin.on('error', () => {})
  const exited = once(child, 'close').then(([code]) => code as number | null)
  return { child, exited, stdout: () => stdout, stderr: () => stderr }
}

export interface Serving extends Started {
  /** As it was printed. */
  readonly url: string
}

/** `drawbridge serve …` on a free port, when it is ready. */
export async function startServing(
  words: readonly string[],
  options: StartOptions = {},
): Promise<Serving> {
  const started = startDrawbridge(['serve', ...words, '--port', '0'], options)
  const [, url = ''] = await started.said(/(http:\/\/\S+\/mcp)\b/)
  return { ...started, url }
}

const main = path.resolve('dist/cli/main.js')
