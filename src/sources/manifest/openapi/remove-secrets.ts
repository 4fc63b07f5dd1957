import type { JsonObject } from '../../../capability/json.ts'
import type { Manifest } from '../reading/manifest-shape.ts'
import { findSecrets } from '../reading/scan-secrets.ts'
import type { DocumentPath } from './openapi-document.ts'
import type { AddReview } from './schema-bundle.ts'

const placeholder = 'Removed: it looked like a secret.'
const sampleKeywords = new Set<PropertyKey>(['default', 'const', 'examples', 'enum'])

/** OpenAPI documents contain API keys as examples, some of them valid; none is copied. */
export function removeSecrets(draft: Manifest, review: AddReview): Manifest {
  const withoutSecrets = structuredClone(draft)
  const secrets = findSecrets(withoutSecrets as JsonObject)
  // Last to first, so that removing a list item does not shift the paths still to process.
  for (const { path } of secrets.reverse()) {
    const sampleIndex = path.findIndex(
      (segment, at) => sampleKeywords.has(segment) && path[at - 1] !== 'properties' && at > 2,
    )
    const target = sampleIndex < 0 ? path : path.slice(0, sampleIndex + 1)
    if (sampleIndex < 0) replace(withoutSecrets, target, placeholder)
    else remove(withoutSecrets, target)
    review(target, 'something that looked like a secret was removed here.')
  }
  return withoutSecrets
}

function replace(root: object, path: DocumentPath, value: string): void {
  const parent = parentOf(root, path)
  const lastSegment = path.at(-1)
  if (parent && lastSegment !== undefined && typeof parent[lastSegment] === 'string')
    parent[lastSegment] = value
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
