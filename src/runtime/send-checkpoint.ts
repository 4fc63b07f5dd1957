import { spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import type { Config } from './config/config-shape.ts'

export type CheckpointTarget = NonNullable<Config['audit']['checkpoints']>['to']

const timeoutMs = 5_000
const maxErrorChars = 500

/** Sends lines to a target. Rejects when the target has not confirmed them in time. */
export function sendCheckpoint(target: CheckpointTarget, lines: readonly string[]): Promise<void> {
  const text = lines.map((line) => `${line}\n`).join('')
  if ('file' in target) return appendTo(target.file, text)
  if ('command' in target) return runWith(target.command, text)
  return post(target.url, target.token, text)
}

async function appendTo(file: string, text: string): Promise<void> {
  const handle = await open(file, 'a', 0o600)
  try {
    await handle.write(text)
    await handle.datasync()
  } finally {
    await handle.close()
  }
}

/** Standard output is ignored: it may carry the MCP messages of this process. */
function runWith([program = '', ...args]: readonly string[], text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe'] })
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
    let errorText = ''
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      errorText = (errorText + chunk).slice(0, maxErrorChars)
    })
    // A program that does not read its input is not an error; its exit code decides.
    child.stdin.on('error', () => {}).end(text)
    child.on('error', (error) => {
      clearTimeout(timer)
      reject(new Error(`${program} cannot be run: ${error.message}`))
    })
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      if (code === 0) resolve()
      else reject(new Error(`${program} ended with ${code ?? signal}: ${errorText.trim()}`))
    })
  })
}

async function post(url: string, token: string | undefined, body: string): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/x-ndjson',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`${new URL(url).host} answered ${response.status}`)
}
