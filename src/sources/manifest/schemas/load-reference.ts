import { createHash } from 'node:crypto'
import { open, realpath } from 'node:fs/promises'
import path from 'node:path'
import { readYaml } from '../../../yaml/read-yaml.ts'

/** Fetches what a schema refers to. Rejects with words for the operator. */
export type LoadReference = (
  reference: string,
  /** The document it stands in; the manifest where absent. */
  from?: string,
) => Promise<LoadedReference>

export interface LoadedReference {
  /** The same for the same document, however it was referred to. */
  readonly key: string
  readonly document: unknown
}

export interface ReferenceOptions {
  /** Nothing outside of it is read. */
  readonly folder: string
  /** Addresses that may be fetched, each with the hash of what must be there. */
  readonly pinned: Readonly<Record<string, string>>
}

const largest = 256 * 1024
const patience = 5000

/** Only at load time, only from beside the manifest or from what the operator pinned. */
export function createLoadReference({ folder, pinned }: ReferenceOptions): LoadReference {
  return async (reference, from) => {
    const url = toUrl(reference, from)
    if (url) return { key: url, document: parse(await fetchPinned(url, pinned[url]), url) }
    const base = from === undefined ? folder : path.dirname(from)
    const file = await confine(path.resolve(base, decodeURIComponent(reference)), folder)
    return { key: file, document: parse(await readBounded(file), path.basename(file)) }
  }
}

function toUrl(reference: string, from: string | undefined): string | undefined {
  const base = from && /^https?:/i.test(from) ? from : undefined
  if (base !== undefined) return new URL(reference, base).href
  return /^[a-z][a-z0-9+.-]+:/i.test(reference) ? reference : undefined
}

async function fetchPinned(url: string, pin: string | undefined): Promise<string> {
  if (!url.startsWith('https://')) throw new Error('only files and https addresses are read')
  if (pin === undefined)
    throw new Error('it is not listed under "schemas" with its hash, so it is not fetched')
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(patience) })
  if (!response.ok || !response.body) throw new Error(`the address answered ${response.status}`)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body) {
    size += chunk.length
    if (size > largest) throw new Error(`it is larger than ${largest} bytes`)
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  const hash = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  if (hash !== pin) throw new Error(`what is there now has another hash: ${hash}`)
  return bytes.toString()
}

/** Links are followed before looking where it lies. */
async function confine(file: string, folder: string): Promise<string> {
  const [target, root] = await Promise.all([
    realpath(file).catch(() => {
      throw new Error('there is no such file')
    }),
    realpath(folder),
  ])
  const inside = path.relative(root, target)
  if (inside.startsWith('..') || path.isAbsolute(inside))
    throw new Error('it lies outside of the folder of the manifest')
  return target
}

async function readBounded(file: string): Promise<string> {
  const handle = await open(file, 'r')
  try {
    const { size } = await handle.stat()
    if (size > largest) throw new Error(`it is larger than ${largest} bytes`)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

function parse(text: string, name: string): unknown {
  const { value, faults } = readYaml(text, name)
  const [fault] = faults
  if (fault) throw new Error(`${fault.at} ${fault.message}`)
  return value
}
