import { type Fault, isFault } from '../capability/fault.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { readYaml } from '../yaml/read-yaml.ts'
import type { Fields } from './document.ts'

/** One action of an overlay, ready to be applied. */
interface Action {
  readonly target: string
  readonly update: unknown
  readonly remove: boolean
  readonly at: string
}

/** An OpenAPI Overlay (version 1): changes of a document, kept in a file of their own. */
export interface Overlay {
  readonly actions: readonly Action[]
}

export interface OverlayProblem {
  readonly at: string
  readonly message: string
}

export function readOverlay(
  text: string,
  file: string,
): Overlay | Fault<readonly OverlayProblem[]> {
  const reading = readYaml(text, file)
  if (reading.faults.length > 0) return { fault: reading.faults }
  const { value } = reading
  const toFault = (path: readonly PropertyKey[], message: string) => ({
    fault: [{ at: reading.at(path), message }],
  })
  if (!isPlainObject(value) || !/^1\.\d/.test(String(value.overlay)))
    return toFault([], 'This is not an OpenAPI Overlay: it needs the field overlay: 1.0.0.')
  if (!Array.isArray(value.actions)) return toFault(['actions'], 'actions must be a list.')
  const actions: Action[] = []
  for (const [index, action] of value.actions.entries()) {
    if (!isPlainObject(action) || typeof action.target !== 'string')
      return toFault(['actions', index], 'An action needs a "target", which is a JSONPath.')
    const { target, update, remove, copy } = action
    if (copy !== undefined)
      return toFault(['actions', index, 'copy'], 'The action "copy" is not supported.')
    const at = reading.at(['actions', index, 'target'])
    actions.push({ target, update, remove: remove === true, at })
  }
  return { actions }
}

export interface OverlayResult {
  readonly root: Fields
  /** Targets that match nothing, or that are not valid. */
  readonly problems: readonly OverlayProblem[]
}

/** Applies the actions in their order; each sees the result of those before it. */
export async function applyOverlay(root: Fields, { actions }: Overlay): Promise<OverlayResult> {
  const { jsonpath } = await import('json-p3')
  const problems: OverlayProblem[] = []
  const copy = structuredClone(root) as Fields
  for (const { target, update, remove, at } of actions) {
    const found = findTargets((path) => jsonpath.query(path, copy as never), target)
    if (isFault(found)) {
      problems.push({ at, message: found.fault })
      continue
    }
    if (found.length === 0) problems.push({ at, message: `The target ${target} matches nothing.` })
    for (const location of toLastFirst(found))
      if (remove && location.length === 0)
        problems.push({ at, message: `The target ${target} is the document, and is not removed.` })
      else if (remove) removeAt(copy, location)
      else if (update !== undefined && location.length === 0 && !isPlainObject(update))
        problems.push({
          at,
          message: `The target ${target} is the document: update is no mapping.`,
        })
      else if (update !== undefined) updateAt(copy, location, update)
  }
  return { root: copy, problems }
}

type Location = readonly (string | number)[]

interface QueryResult {
  readonly nodes: readonly { readonly location: Location }[]
}

function findTargets(
  query: (path: string) => QueryResult,
  target: string,
): readonly Location[] | Fault {
  try {
    return query(target).nodes.map(({ location }) => location)
  } catch (error) {
    return {
      fault: `The target ${JSON.stringify(target)} is not a JSONPath: ${(error as Error).message}`,
    }
  }
}

/**
 * Each location once, although a JSONPath can select it several times. Last to first and children before
 * their parents, so that removing a list item does not move those still to be changed.
 */
function toLastFirst(locations: readonly Location[]): readonly Location[] {
  const unique = new Map(locations.map((location) => [JSON.stringify(location), location]))
  return [...unique.values()].sort(compareLastFirst)
}

function compareLastFirst(a: Location, b: Location): number {
  const index = a.findIndex((key, at) => key !== b[at])
  const [key, other] = [a[index], b[index]]
  if (key === undefined || other === undefined) return b.length - a.length
  if (typeof key === 'number' && typeof other === 'number') return other - key
  return String(key) < String(other) ? 1 : -1
}

type Container = Record<string | number, unknown>

function parentOf(root: Fields, location: Location): Container {
  let node: unknown = root
  for (const key of location.slice(0, -1)) node = (node as Container)[key]
  return node as Container
}

function removeAt(root: Fields, location: Location): void {
  const key = location.at(-1)
  if (key === undefined) return
  const parent = parentOf(root, location)
  if (Array.isArray(parent)) parent.splice(Number(key), 1)
  else delete parent[key]
}

function updateAt(root: Fields, location: Location, update: unknown): void {
  const key = location.at(-1)
  const parent = key === undefined ? undefined : parentOf(root, location)
  const target = parent && key !== undefined ? parent[key] : root
  if (Array.isArray(target)) target.push(structuredClone(update))
  else if (isPlainObject(target) && isPlainObject(update)) merge(target as Container, update)
  else if (parent && key !== undefined) parent[key] = structuredClone(update)
}

/** Objects are merged, lists are joined, everything else is replaced. */
function merge(target: Container, update: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(update)) {
    if (key === '__proto__') continue
    const former = Object.hasOwn(target, key) ? target[key] : undefined
    if (isPlainObject(former) && isPlainObject(value)) merge(former as Container, value)
    else if (Array.isArray(former) && Array.isArray(value)) former.push(...structuredClone(value))
    else target[key] = structuredClone(value)
  }
}
