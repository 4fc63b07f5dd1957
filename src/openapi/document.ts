import { isPlainObject } from '../json/is-plain-object.ts'
import type { Findings } from './findings.ts'
import type { OverlayProblem } from './overlay.ts'

export type DocumentPath = readonly PropertyKey[]
export type Fields = Readonly<Record<string, unknown>>

/** A mapping in the document, with its path. */
export interface DocumentNode {
  readonly value: Fields
  readonly path: DocumentPath
}

/** An OpenAPI document of version 3.0 or 3.1, in one piece. */
export interface OpenApiDocument {
  readonly root: Fields
  /** The version as written: also `2.0`, whose documents are converted to 3.0. */
  readonly version: string
  /** OpenAPI 3.0 has its own schema dialect; 3.1 uses JSON Schema 2020-12. */
  readonly isVersion30: boolean
  /** Digest of everything that was read, for `diff` and the catalog. */
  readonly digest: string
  /** The address of a document that was fetched: relative server URLs refer to it. */
  readonly url?: string
  /** Actions of the overlay that had no effect. */
  readonly overlayProblems: readonly OverlayProblem[]
  /** References to files that cannot be used, with the reason. */
  readonly unreadable: ReadonlyMap<string, string>
  /** `file:line:column` of a value, or of its nearest ancestor in the written document. */
  at(path: DocumentPath): string
}

/** Resolves references; returns nothing if the value is absent, and reports one that is not a mapping. */
export function resolve(
  document: OpenApiDocument,
  value: unknown,
  path: DocumentPath,
  findings: Findings,
): DocumentNode | undefined {
  const seen = new Set<string>()
  let node = { value, path }
  while (isPlainObject(node.value)) {
    const { $ref } = node.value
    if (typeof $ref !== 'string') return { value: node.value, path: node.path }
    const target = seen.size < maxReferences ? lookUp(document, $ref) : undefined
    if (!target || seen.has($ref)) {
      findings.fault([...node.path, '$ref'], toReferenceFault(document, $ref, seen))
      return undefined
    }
    seen.add($ref)
    node = target
  }
  if (node.value !== undefined) findings.fault(node.path, 'This must be a mapping.')
  return undefined
}

/** From one reference to the next. Every use of the first one follows them all. */
export const maxReferences = 100

/** The target of a local reference. */
export function lookUp(
  { root }: Pick<OpenApiDocument, 'root'>,
  reference: string,
): { readonly value: unknown; readonly path: DocumentPath } | undefined {
  if (!isLocalReference(reference)) return undefined
  let value: unknown = root
  const path: string[] = []
  for (const segment of reference.slice(1).split('/').slice(1)) {
    const key = decode(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Fields)[key]
    path.push(key)
  }
  return { value, path }
}

export const isLocalReference = (reference: string): boolean =>
  reference === '#' || reference.startsWith('#/')

function toReferenceFault(
  { unreadable }: OpenApiDocument,
  reference: string,
  seen: ReadonlySet<string>,
): string {
  if (seen.has(reference)) return `${reference} refers to itself.`
  if (seen.size >= maxReferences) return toChainText(reference)
  const fault = unreadable.get(reference)
  if (fault !== undefined) return toUnreadableText(reference, fault)
  return isLocalReference(reference)
    ? `${reference} does not exist in this document.`
    : `${reference} is outside of this document and is not fetched. Bundle the document into one file first.`
}

export const toChainText = (reference: string): string =>
  `${reference} is behind ${maxReferences} references to references, the longest chain that is followed.`

/** A file that cannot be used, unlike a URL, is a mistake: what refers to it is not served. */
export const toUnreadableText = (reference: string, fault: string): string =>
  `${reference} cannot be used: ${fault}.`

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
