import { hash } from 'node:crypto'

const maxIdLength = 64

/** Converts any spelling to a manifest id: `listAllPets` becomes `list-all-pets`. */
export const toSlug = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')

/**
 * The manifest ids of operations, by the ids of the operations. An id never moves to another operation:
 * where two would be equal, both get a digest, whatever their order.
 */
export function toManifestIds(operationIds: readonly string[]): ReadonlyMap<string, string> {
  const slugs = new Map(operationIds.map((id) => [id, toSlug(id)]))
  const counts = new Map<string, number>()
  for (const slug of slugs.values()) counts.set(slug, (counts.get(slug) ?? 0) + 1)
  return new Map(
    [...slugs].map(([id, slug]) => {
      const isUnique = slug !== '' && slug.length <= maxIdLength && counts.get(slug) === 1
      return [id, isUnique ? slug : withDigest(slug, id)]
    }),
  )
}

function withDigest(slug: string, id: string): string {
  const digest = hash('sha256', id).slice(0, 8)
  const start = slug.slice(0, maxIdLength - digest.length - 1).replace(/-$/, '')
  return `${start || 'operation'}-${digest}`
}

/** Counts code points, as `minLength` of JSON Schema does. */
export const hasMinLength = (text: string, minLength: number): boolean =>
  [...text].length >= minLength
