import { findSecrets, redactSecretsInText } from '../json/scan-secrets.ts'
import type { DocumentPath } from './document.ts'

const placeholder = 'Removed: it looked like a secret.'
const sampleKeywords = new Set<PropertyKey>(['default', 'const', 'examples', 'enum'])

/** A copy without secrets: documents contain API keys as examples, some of them valid. */
export function removeSecrets<T extends object>(
  value: T,
  onRemoved: (path: DocumentPath) => void,
): T {
  const secrets = findSecrets(value)
  if (secrets.length === 0) return value
  const copy = structuredClone(value)
  // Last to first, so that removing a list item does not shift the paths still to process.
  for (const { path } of secrets.reverse()) {
    const sampleIndex = path.findIndex(
      (segment, at) => sampleKeywords.has(segment) && path[at - 1] !== 'properties' && at > 0,
    )
    const target = sampleIndex < 0 ? path : path.slice(0, sampleIndex + 1)
    if (sampleIndex < 0) replace(copy, target)
    else remove(copy, target)
    onRemoved(target)
  }
  return copy
}

/** Keeps the text around a secret. */
function replace(root: object, path: DocumentPath): void {
  const parent = parentOf(root, path)
  const lastSegment = path.at(-1)
  const text = lastSegment === undefined ? undefined : parent?.[lastSegment]
  if (!parent || lastSegment === undefined || typeof text !== 'string') return
  const redacted = redactSecretsInText(text)
  parent[lastSegment] = redacted === text ? placeholder : redacted
}

function remove(root: object, path: DocumentPath): void {
  const parent = parentOf(root, path)
  const lastSegment = path.at(-1)
  if (parent && lastSegment !== undefined) delete parent[lastSegment]
}

function parentOf(root: object, path: DocumentPath): Record<PropertyKey, unknown> | undefined {
  let node: unknown = root
  for (const segment of path.slice(0, -1)) {
    if (typeof node !== 'object' || node === null) return undefined
    node = (node as Record<PropertyKey, unknown>)[segment]
  }
  return typeof node === 'object' && node !== null
    ? (node as Record<PropertyKey, unknown>)
    : undefined
}
