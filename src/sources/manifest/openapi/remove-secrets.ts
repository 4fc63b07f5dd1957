import type { JsonObject } from '../../../capability/json.ts'
import type { Manifest } from '../reading/manifest-shape.ts'
import { findSecrets } from '../reading/scan-secrets.ts'
import type { DocumentPath } from './openapi-document.ts'
import type { AddReview } from './schema-bundle.ts'

const instead = 'Left out: it looked like a secret.'
const samples = new Set<PropertyKey>(['default', 'const', 'examples', 'enum'])

/** Documents carry keys as examples, and some of them open doors: none comes along. */
export function removeSecrets(draft: Manifest, review: AddReview): Manifest {
  const clean = structuredClone(draft)
  const secrets = findSecrets(clean as JsonObject)
  // From the back, so that what is taken out of a list moves nothing that is still to come.
  for (const { path } of secrets.reverse()) {
    const sample = path.findIndex(
      (step, at) => samples.has(step) && path[at - 1] !== 'properties' && at > 2,
    )
    const place = sample < 0 ? path : path.slice(0, sample + 1)
    if (sample < 0) put(clean, place, instead)
    else remove(clean, place)
    review(place, 'something that looked like a secret was left out here.')
  }
  return clean
}

function put(root: object, path: DocumentPath, value: string): void {
  const holder = holderOf(root, path)
  const last = path.at(-1)
  if (holder && last !== undefined && typeof holder[last] === 'string') holder[last] = value
}

function remove(root: object, path: DocumentPath): void {
  const holder = holderOf(root, path)
  const last = path.at(-1)
  if (holder && last !== undefined) delete holder[last]
}

function holderOf(root: object, path: DocumentPath): Record<PropertyKey, unknown> | undefined {
  let node: unknown = root
  for (const step of path.slice(0, -1)) {
    if (typeof node !== 'object' || node === null) return undefined
    node = (node as Record<PropertyKey, unknown>)[step]
  }
  return typeof node === 'object' && node !== null
    ? (node as Record<PropertyKey, unknown>)
    : undefined
}
