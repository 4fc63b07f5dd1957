import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import os from 'node:os'

export interface StartedProcess {
  readonly process: ChildProcessWithoutNullStreams
  /** The exit code; null after a signal. */
  readonly exited: Promise<number | null>
  stdout(): string
  stderr(): string
  /** Waits until standard output or error matches; rejects when the process exits first. */
  waitForOutput(pattern: RegExp): Promise<RegExpMatchArray>
}

export interface ProcessOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** A command that starts Node, such as `unshare`. */
  readonly prefix?: readonly string[]
}

/** Starts a Node process and collects its output. */
export function startProcess(
  args: readonly string[],
  { cwd = os.tmpdir(), env = {}, prefix = [] }: ProcessOptions = {},
): StartedProcess {
  const [command = process.execPath, ...rest] = [...prefix, process.execPath, ...args]
  const child = spawn(command, rest, { cwd, env: toEnvironment(env) })
  killAtExit(child)
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
  const waitForOutput = (pattern: RegExp): Promise<RegExpMatchArray> =>
    new Promise((resolve, reject) => {
      const streams = [child.stdout, child.stderr]
      const check = () => {
        const match = stdout.match(pattern) ?? stderr.match(pattern)
        if (!match) return
        for (const stream of streams) stream.off('data', check)
        resolve(match)
      }
      for (const stream of streams) stream.on('data', check)
      check()
      // Has no effect after a match.
      exited.then(() => reject(new Error(`exited without printing ${pattern}: ${stderr}`)))
    })
  return { process: child, exited, stdout: () => stdout, stderr: () => stderr, waitForOutput }
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Kills the child when this process exits, so that a failed test leaves no server behind. */
export function killAtExit(child: ChildProcess): void {
  running.add(child)
  child.once('close', () => running.delete(child))
}

/** Inherits only PATH: a developer's home, tokens and log level must not affect tests. */
export const toEnvironment = (env: Readonly<Record<string, string>>): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: os.tmpdir(),
  TERM: 'xterm',
  ...env,
})
