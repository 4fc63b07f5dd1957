import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import type { Reference, References } from '../json/schema/references.ts'
import { listChildren, pointerOf, toRootNode } from '../json/schema/walk-schema.ts'

/** Keywords whose schemas are applied to the same value: no loop through them ever ends. */
const inPlace = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
])

/**
 * References that lead back to their own schema for the same value, such as `a → b → a`: checking a
 * value would never end. Recursion through properties or items ends with the value.
 */
export function findReferenceLoop(references: References): string | undefined {
  const byHolder = new Map<JsonObject, Reference[]>()
  for (const reference of references.all) {
    const { schema } = reference.node
    byHolder.set(schema, [...(byHolder.get(schema) ?? []), reference])
  }
  const state = new Map<JsonObject, 'open' | 'done'>()
  for (const { node } of references.all) {
    const loop = search(node.schema, byHolder, state)
    if (loop) {
      const { node: holder, keyword, text } = loop
      return `${pointerOf(holder)}/${keyword} ${JSON.stringify(text)} is part of a loop of references that never reaches a schema`
    }
  }
  return undefined
}

interface Step {
  readonly schema: JsonObject
  readonly next: Iterator<{ readonly schema: JsonObject; readonly by: Reference | undefined }>
  /** The reference that led here. */
  readonly by: Reference | undefined
}

/** Depth-first with a stack of its own: chains of references can be long. */
function search(
  start: JsonObject,
  byHolder: ReadonlyMap<JsonObject, Reference[]>,
  state: Map<JsonObject, 'open' | 'done'>,
): Reference | undefined {
  if (state.has(start)) return undefined
  const open = (schema: JsonObject, by: Reference | undefined): Step => {
    state.set(schema, 'open')
    return { schema, by, next: listApplied(schema, byHolder)[Symbol.iterator]() }
  }
  const path = [open(start, undefined)]
  for (let step = path.at(-1); step; step = path.at(-1)) {
    const { value: edge, done } = step.next.next()
    if (done) {
      state.set(step.schema, 'done')
      path.pop()
      continue
    }
    const seen = state.get(edge.schema)
    if (seen === 'open') {
      const turn = path.slice(path.findIndex(({ schema }) => schema === edge.schema) + 1)
      return edge.by ?? turn.find(({ by }) => by)?.by
    }
    if (!seen) path.push(open(edge.schema, edge.by))
  }
  return undefined
}

/** The schemas that a value is checked against together with this one. */
function listApplied(schema: JsonObject, byHolder: ReadonlyMap<JsonObject, Reference[]>) {
  const children = listChildren(toRootNode(schema))
    .filter(({ keyword = '' }) => inPlace.has(keyword))
    .map((child) => ({ schema: child.schema, by: undefined }))
  const targets = (byHolder.get(schema) ?? []).flatMap((by) =>
    isPlainObject(by.target) ? [{ schema: by.target as JsonObject, by }] : [],
  )
  return [...children, ...targets]
}
