import { createHash } from 'node:crypto'
import type { GuardedFetch } from '../egress/guarded-fetch.ts'

export interface PinnedFetch {
  readonly fetch: GuardedFetch
  readonly maxBytes: number
  readonly timeoutMs: number
}

/** Fetches a text over https whose hash is known. Rejects with a message for the operator. */
export async function fetchPinned(
  url: string,
  pin: string | undefined,
  { fetch, maxBytes, timeoutMs }: PinnedFetch,
): Promise<string> {
  if (!/^https:/i.test(url)) throw new Error('only files and https URLs are supported')
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
  if (!response.ok || !response.body)
    throw new Error(`the server responded with status ${response.status}`)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  const hash = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  if (pin === undefined)
    throw new Error(
      `it is not pinned: after a review, write its hash into the configuration (${hash})`,
    )
  if (hash !== pin) throw new Error(`its content has another hash: ${hash}`)
  return bytes.toString()
}
