import { spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import { type Egress, EgressError } from '../../upstream/egress/egress.ts'
import { toGuardedFetch } from '../../upstream/egress/guarded-fetch.ts'
import type { Config } from '../config/config-shape.ts'

export type CheckpointTarget = NonNullable<Config['audit']['checkpoints']>['to']

const timeoutMs = 5_000
const maxErrorChars = 500

/** Sends lines to a target; `egress` decides about a URL. Rejects when they were not confirmed in time. */
export function sendCheckpoint(
  target: CheckpointTarget,
  lines: readonly string[],
  egress: Egress,
): Promise<void> {
  const text = lines.map((line) => `${line}\n`).join('')
  if ('file' in target) return appendTo(target.file, text)
  if ('command' in target) return runWith(target.command, text)
  return post(target, text, egress)
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

interface HttpTarget {
  readonly url: string
  readonly token?: string | undefined
}

async function post({ url, token }: HttpTarget, body: string, egress: Egress): Promise<void> {
  const { host } = new URL(url)
  const response = await toGuardedFetch(egress)(url, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/x-ndjson',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => {
    throw error instanceof EgressError ? toRefusal(error) : error
  })
  await response.body?.cancel()
  if (response.status >= 300 && response.status < 400)
    throw new Error(
      `${host} answered ${response.status}: redirects are not followed; set audit.checkpoints.to.url to the final address`,
    )
  if (!response.ok) throw new Error(`${host} answered ${response.status}`)
}

const toRefusal = ({ message }: EgressError): Error =>
  new Error(`audit.checkpoints.to.url is refused: ${message}. Correct the URL or policy.egress`)
