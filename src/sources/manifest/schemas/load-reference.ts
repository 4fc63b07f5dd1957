import { open, realpath } from 'node:fs/promises'
import path from 'node:path'
import type { GuardedFetch } from '../../../upstream/egress/guarded-fetch.ts'
import { fetchPinned } from '../../../upstream/http/fetch-pinned.ts'
import { readYaml } from '../../../yaml/read-yaml.ts'

/** Loads a referenced document. Rejects with a message for the operator. */
export type LoadReference = (
  reference: string,
  /** The key of the referring document; absent for the manifest. */
  referrer?: string,
) => Promise<LoadedReference>

export interface LoadedReference {
  /** Canonical path or URL: equal for every reference to the same document. */
  readonly key: string
  readonly document: unknown
}

export interface ReferenceOptions {
  /** The folder of the manifest; files outside of it are not read. */
  readonly folder: string
  /** URLs that may be fetched, each with the SHA-256 hash of its content. */
  readonly pinned: Readonly<Record<string, string>>
  readonly fetch: GuardedFetch
}

const maxBytes = 256 * 1024
const timeoutMs = 5000

/** Reads files below the manifest's folder and pinned https URLs (prevents SSRF and path traversal). */
export function createLoadReference({ folder, pinned, fetch }: ReferenceOptions): LoadReference {
  return async (reference, referrer) => {
    const url = toUrl(reference, referrer)
    if (url) {
      const pin = pinned[url]
      if (url.startsWith('https://') && pin === undefined)
        throw new Error('it is not listed with its hash under "schemas"')
      const text = await fetchPinned(url, pin, { fetch, maxBytes, timeoutMs })
      return { key: url, document: parse(text, url) }
    }
    const base = referrer === undefined ? folder : path.dirname(referrer)
    const file = await confine(path.resolve(base, decodeURIComponent(reference)), folder)
    return { key: file, document: parse(await readBounded(file), path.basename(file)) }
  }
}

function toUrl(reference: string, referrer: string | undefined): string | undefined {
  const base = referrer && /^https?:/i.test(referrer) ? referrer : undefined
  if (base !== undefined) return new URL(reference, base).href
  return /^[a-z][a-z0-9+.-]+:/i.test(reference) ? reference : undefined
}

/** Resolves symbolic links before checking that the file is inside the folder. */
async function confine(file: string, folder: string): Promise<string> {
  const [target, root] = await Promise.all([
    realpath(file).catch(() => {
      throw new Error('the file does not exist')
    }),
    realpath(folder),
  ])
  const relative = path.relative(root, target)
  if (relative.startsWith('..') || path.isAbsolute(relative))
    throw new Error('it is outside of the folder of the manifest')
  return target
}

async function readBounded(file: string): Promise<string> {
  const handle = await open(file, 'r')
  try {
    const { size } = await handle.stat()
    if (size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`)
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
