import type { DeclaredOperation } from '../../openapi/list-operations.ts'
import { toDeclaredId } from '../../openapi/operation-ids.ts'
import { toGlob } from '../../patterns/glob.ts'

/** Selects operations. All given parts must match; `*` stands for any characters. */
export interface Selector {
  /** A tag of the operation. */
  readonly tag?: string | undefined
  /** The path template, such as `/orders/*`. */
  readonly path?: string | undefined
  /** The operation's id: its `operationId`, or made from method and path. */
  readonly operation?: string | undefined
  /** The HTTP method. */
  readonly method?: string | undefined
}

export interface Selection {
  readonly operations: readonly DeclaredOperation[]
  /** Selectors that match nothing: usually a misspelt name. */
  readonly unmatched: readonly { readonly list: 'include' | 'exclude'; readonly index: number }[]
}

/** Everything that `include` selects (all, if it is empty), less what `exclude` selects. */
export function selectOperations(
  operations: readonly DeclaredOperation[],
  { include, exclude }: Readonly<Record<'include' | 'exclude', readonly Selector[]>>,
): Selection {
  const matched = { include: new Set<number>(), exclude: new Set<number>() }
  const tests = {
    include: include.map((one) => toTest(one, ({ id }) => [id])),
    // What is left out stays out when the document gets a second operation with the same operationId.
    exclude: exclude.map((one) => toTest(one, listIds)),
  }
  const selects = (list: 'include' | 'exclude', operation: DeclaredOperation): boolean => {
    const indexes = tests[list].flatMap((test, index) => (test(operation) ? [index] : []))
    for (const index of indexes) matched[list].add(index)
    return indexes.length > 0
  }
  const selected = operations.filter((operation) => {
    const isIncluded = include.length === 0 || selects('include', operation)
    // Always asked, so that every selector that matches anything counts.
    return !selects('exclude', operation) && isIncluded
  })
  const unmatched = (['include', 'exclude'] as const).flatMap((list) =>
    tests[list].flatMap((_, index) => (matched[list].has(index) ? [] : [{ list, index }])),
  )
  return { operations: selected, unmatched }
}

/** The id, and the `operationId` of an operation that is not named so because another one has it too. */
export const listIds = (operation: DeclaredOperation): readonly string[] => [
  operation.id,
  toDeclaredId(operation),
]

function toTest(
  { tag, path, operation, method }: Selector,
  toIds: (one: DeclaredOperation) => readonly string[],
): (one: DeclaredOperation) => boolean {
  const tests: ((one: DeclaredOperation) => boolean)[] = []
  if (tag !== undefined) {
    const isTag = toGlob(tag)
    tests.push(({ value }) => Array.isArray(value.tags) && value.tags.map(String).some(isTag))
  }
  if (path !== undefined) {
    const isPath = toGlob(path)
    tests.push(({ route }) => isPath(route))
  }
  if (operation !== undefined) {
    const isId = toGlob(operation)
    tests.push((one) => toIds(one).some(isId))
  }
  if (method !== undefined) tests.push((one) => one.method === method.toLowerCase())
  return (one) => tests.every((test) => test(one))
}
