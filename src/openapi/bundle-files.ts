import { hash } from 'node:crypto'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Fault, isFault } from '../capability/fault.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import type { Fields } from './document.ts'
import { readText } from './read-text.ts'

/** Reads a file of the document; rejects with a message for the operator when it may not be read. */
export type LoadFile = (file: string) => Promise<string>

const maxFiles = 10_000
const maxTotalBytes = 64 * 1024 * 1024

/** True if the document refers to other files. */
export function refersToFiles(root: unknown): boolean {
  if (typeof root !== 'object' || root === null) return false
  if (isPlainObject(root) && typeof root.$ref === 'string' && isFileReference(root.$ref))
    return true
  return Object.values(root).some(refersToFiles)
}

const isFileReference = (reference: string): boolean =>
  !reference.startsWith('#') && !/^[a-z][a-z0-9+.-]+:/i.test(reference)

export interface BundledFiles {
  readonly root: Fields
  /** Of the other files, sorted. */
  readonly digests: readonly string[]
  /** References that are left as they are, because their file cannot be used, with the reason. */
  readonly unreadable: ReadonlyMap<string, string>
}

/** Puts the files of a document into one. */
export async function bundleFiles(
  root: Fields,
  file: string,
  loadFile: LoadFile,
): Promise<BundledFiles | Fault> {
  const { $RefParser } = await import('@apidevtools/json-schema-ref-parser')
  const rootUrl = pathToFileURL(path.resolve(file)).href
  const files = await loadFiles(structuredClone(root), rootUrl, loadFile)
  const unreadable = new Map<string, string>()
  const contents = new Map<string, unknown>()
  for (const [url, one] of files.byUrl)
    if (!isFault(one))
      contents.set(url, protectReferences(one.value, url, { rootUrl, files, unreadable }))
  try {
    const bundled = await new $RefParser().bundle(rootUrl, contents.get(rootUrl) as object, {
      resolve: {
        file: false,
        http: false,
        loaded: {
          order: 1,
          canRead: true,
          read: ({ url }: { readonly url: string }) => contents.get(withoutFragment(url)) as string,
        },
      },
      // The files are parsed already: the parser's own YAML is another dialect.
      parse: { json: false, yaml: false, text: false, binary: false, parsed },
    })
    return {
      root: restoreReferences(bundled, rootUrl) as Fields,
      digests: files.digests.sort(),
      unreadable,
    }
  } catch (error) {
    return { fault: `A file that it refers to cannot be used: ${(error as Error).message}` }
  }
}

interface LoadedFiles {
  /** The content of each file, or why it cannot be used. */
  readonly byUrl: ReadonlyMap<string, { readonly value: unknown } | Fault>
  readonly digests: string[]
}

/** Everything that the document refers to, directly or through other files. */
async function loadFiles(root: Fields, rootUrl: string, loadFile: LoadFile): Promise<LoadedFiles> {
  const byUrl = new Map<string, { readonly value: unknown } | Fault>([[rootUrl, { value: root }]])
  const digests: string[] = []
  let totalBytes = 0
  const load = async (url: string): Promise<{ readonly value: unknown } | Fault> => {
    if (byUrl.size > maxFiles) return { fault: `the document has more than ${maxFiles} files` }
    if (totalBytes > maxTotalBytes) return { fault: tooLarge }
    try {
      const text = await loadFile(url)
      totalBytes += Buffer.byteLength(text)
      if (totalBytes > maxTotalBytes) return { fault: tooLarge }
      digests.push(hash('sha256', text))
      const { value, faults } = readText(text, path.basename(url))
      const [fault] = faults
      return fault ? { fault: `${fault.at} ${fault.message}` } : { value }
    } catch (error) {
      return { fault: (error as Error).message }
    }
  }
  const pending: { readonly url: string; readonly value: unknown }[] = [
    { url: rootUrl, value: root },
  ]
  for (let next = pending.pop(); next; next = pending.pop()) {
    const targets = new Set<string>()
    const { url: base, value } = next
    forEachReference(value, '$ref', (_, reference) => {
      if (!URL.canParse(reference, base)) return
      const target = new URL(reference, base)
      if (target.protocol === 'file:') targets.add(withoutFragment(target.href))
    })
    for (const url of targets) {
      if (byUrl.has(url)) continue
      const loaded = await load(url)
      byUrl.set(url, loaded)
      if (!isFault(loaded)) pending.push({ url, value: loaded.value })
    }
  }
  return { byUrl, digests }
}

const tooLarge = `the files of the document are larger than ${maxTotalBytes / 1024 / 1024} MB together`

const withoutFragment = (url: string): string => url.split('#', 1)[0] as string

interface Protection {
  readonly rootUrl: string
  readonly files: LoadedFiles
  /** Receives the references whose target cannot be used. */
  readonly unreadable: Map<string, string>
}

/**
 * Hides references that cannot be resolved, and those to URLs, from the library: it would reject the whole
 * document because of one.
 */
const hiddenReference = 'x-drawbridge-reference'

/** References to the main file become absolute, because the library leaves relative ones as they are. */
function protectReferences(
  value: unknown,
  base: string,
  { rootUrl, files, unreadable }: Protection,
): unknown {
  forEachReference(value, '$ref', (owner, reference) => {
    const hide = (hidden: string) => {
      delete owner.$ref
      owner[hiddenReference] = hidden
    }
    if (!URL.canParse(reference, base)) return hide(reference)
    const target = new URL(reference, base)
    const isFile = target.protocol === 'file:'
    const fault = isFile ? findTargetFault(target, files) : undefined
    if (!isFile || fault !== undefined) {
      const hidden = (isFile && toReadable(target, rootUrl)) || reference
      if (fault !== undefined) unreadable.set(hidden, fault)
      hide(hidden)
    } else if (base !== rootUrl && withoutFragment(target.href) === rootUrl)
      owner.$ref = target.href
  })
  return value
}

function findTargetFault(target: URL, { byUrl }: LoadedFiles): string | undefined {
  const file = byUrl.get(withoutFragment(target.href))
  if (!file) return 'the file was not read'
  if (isFault(file)) return file.fault
  return hasTarget(file.value, target.hash) ? undefined : 'its file has no such part'
}

/** A part behind another reference counts as existing. */
function hasTarget(root: unknown, fragment: string): boolean {
  let value = root
  for (const segment of fragment.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return false
    if (typeof (value as Owner).$ref === 'string') return true
    const key = decode(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    if (!Object.hasOwn(value, key)) return false
    value = (value as Owner)[key]
  }
  return value !== undefined && value !== null
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Relative to the folder of the main file, whose own parts have only a fragment; nothing if it is no path. */
function toReadable(target: URL, rootUrl: string): string | undefined {
  const url = withoutFragment(target.href)
  if (url === rootUrl) return target.hash
  const folder = path.dirname(fileURLToPath(rootUrl))
  try {
    return `${path.relative(folder, fileURLToPath(url)).replaceAll(path.sep, '/')}${target.hash}`
  } catch {
    // An invalid percent-encoding, or a file on another host.
    return undefined
  }
}

function restoreReferences(value: unknown, rootUrl: string): unknown {
  forEachReference(value, hiddenReference, (owner, reference) => {
    delete owner[hiddenReference]
    owner.$ref = reference
  })
  forEachReference(value, '$ref', (owner, reference) => {
    if (reference.startsWith(`${rootUrl}#`)) owner.$ref = reference.slice(rootUrl.length)
  })
  return value
}

type Owner = Record<string, unknown>

function forEachReference(
  value: unknown,
  keyword: string,
  visit: (owner: Owner, reference: string) => void,
  seen = new Set<object>(),
): void {
  if (typeof value !== 'object' || value === null || seen.has(value)) return
  seen.add(value)
  for (const child of Object.values(value)) forEachReference(child, keyword, visit, seen)
  const reference = Array.isArray(value) ? undefined : (value as Owner)[keyword]
  if (typeof reference === 'string') visit(value as Owner, reference)
}

const parsed = {
  order: 1,
  canParse: true,
  parse: ({ data }: { readonly data: unknown }) => data,
}
