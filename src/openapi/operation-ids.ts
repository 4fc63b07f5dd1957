import { createHash } from 'node:crypto'
import type { DocumentPath, Fields } from './document.ts'
import type { Findings } from './findings.ts'

interface Named {
  readonly method: string
  readonly route: string
  readonly value: Fields
  readonly path: DocumentPath
}

/**
 * A unique id for each operation, whatever the order of the document. Of several operations with the same
 * `operationId`, all are named after method and path. Of several whose method and path consist of the same
 * words, all get a digest: no operation takes over the id of another.
 */
export function toOperationIds(operations: readonly Named[], findings: Findings): string[] {
  const declaredIds = operations.map(toDeclaredId)
  const declaredCounts = countEach(declaredIds)
  const isKept = (id: string) => id !== '' && declaredCounts.get(id) === 1
  const words = operations.map(toWords)
  const derivedCounts = countEach(words.filter((_, index) => !isKept(declaredIds[index] ?? '')))
  return operations.map((operation, index) => {
    const declaredId = declaredIds[index] ?? ''
    if (isKept(declaredId)) return declaredId
    const derivedId = words[index] ?? ''
    const isUnique = derivedCounts.get(derivedId) === 1 && !declaredCounts.has(derivedId)
    const id = isUnique ? derivedId : withDigest(derivedId, operation, declaredCounts)
    if (declaredId !== '')
      findings.remark(
        [...operation.path, 'operationId'],
        `Several operations have the operationId ${declaredId}; this one is named ${id}.`,
      )
    return id
  })
}

/** The `operationId`; empty if there is none that can be a name. */
export const toDeclaredId = ({ value: { operationId } }: Pick<Named, 'value'>): string =>
  typeof operationId === 'string' && /[\p{L}\p{N}]/u.test(operationId) ? operationId.trim() : ''

function countEach(texts: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}

/** `GET /pets/{petId}` becomes `get_pets_petId`. */
const toWords = ({ method, route }: Named): string =>
  [method, ...(route.match(/[\p{L}\p{N}]+/gu) ?? ['root'])].join('_')

/** Different routes can consist of the same words: `/a/b` and `/a-b`. */
function withDigest(
  words: string,
  operation: Named,
  declared: ReadonlyMap<string, unknown>,
): string {
  const { method, route } = operation
  const digest = createHash('sha256').update(`${method} ${route}`).digest('hex').slice(0, 8)
  const id = `${words}_${digest}`
  // A declared id can look like this one.
  return declared.has(id) ? withDigest(id, operation, declared) : id
}
