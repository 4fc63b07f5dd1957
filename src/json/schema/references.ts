import type { JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../is-plain-object.ts'
import { pointerOf, type SchemaNode, toRootNode, walkSchema } from './walk-schema.ts'

/** A `$ref`, and the schema that it names; no target if that is not inside the document. */
export interface Reference {
  readonly node: SchemaNode
  readonly keyword: '$ref' | '$dynamicRef' | '$recursiveRef'
  readonly text: string
  readonly target: JsonObject | boolean | undefined
}

const referenceKeywords = ['$ref', '$dynamicRef', '$recursiveRef'] as const

/**
 * Resolves the references of one schema document: pointers (also percent-encoded), anchors, and URIs
 * relative to the nearest `$id` above. Nothing outside of the document is fetched.
 */
export interface References {
  readonly all: readonly Reference[]
  /** The schemas of the document, also those that only a reference shows to be schemas. */
  readonly nodes: readonly SchemaNode[]
  /** The schema that a reference in `schema` names. */
  resolve(text: string, schema: JsonObject): JsonObject | boolean | undefined
}

/** Cached, because a schema is walked for several reasons while it is loaded. Schemas are not modified. */
export function referencesOf(root: JsonObject): References {
  let references = documents.get(root)
  if (!references) {
    references = new DocumentReferences(root)
    documents.set(root, references)
  }
  return references
}

const documents = new WeakMap<JsonObject, References>()

/** URI of a schema without `$id`; `.invalid` is reserved, so no reference names it by accident. */
const unnamedBase = 'schema://document.invalid/'

class DocumentReferences implements References {
  readonly all: readonly Reference[]
  readonly nodes: readonly SchemaNode[]
  /** Schemas by URI: resources, and anchors in them. */
  readonly #byUri = new Map<string, JsonObject>()
  readonly #bases = new Map<JsonObject, string>()
  /** Bases by pointer: where a schema has an `$id`. */
  readonly #resources = new Map<string, string>()

  constructor(root: JsonObject) {
    const nodes: SchemaNode[] = []
    const all: Reference[] = []
    const pending: SchemaNode[] = [toRootNode(root)]
    for (let start = pending.shift(); start; start = pending.shift()) {
      const found = [...walkSchema(start)].filter(({ schema }) => !this.#bases.has(schema))
      for (const node of found) this.#addSchema(node)
      nodes.push(...found)
      for (const node of found)
        for (const reference of this.#listReferences(node)) {
          all.push(reference)
          const { target, text } = reference
          if (isPlainObject(target) && !this.#bases.has(target as JsonObject))
            pending.push({ schema: target as JsonObject, path: toPath(text), keyword: undefined })
        }
    }
    this.nodes = nodes
    this.all = all
  }

  #addSchema(node: SchemaNode): void {
    const { schema, path } = node
    const isRoot = path.length === 0
    // Most documents have one base: no pointers are needed to find it.
    const isPlain = !isRoot && schema.$id === undefined && this.#resources.size === 1
    const pointer = isPlain ? '' : pointerOf(node)
    const parent = findBase(this.#resources, pointer)
    const uri = typeof schema.$id === 'string' ? resolveUri(schema.$id, parent) : undefined
    const base = stripFragment(uri ?? parent)
    if (isRoot) this.#byUri.set(unnamedBase, schema)
    if (isRoot || base !== parent) {
      this.#resources.set(pointer, base)
      if (!this.#byUri.has(base)) this.#byUri.set(base, schema)
    }
    this.#bases.set(schema, base)
    for (const keyword of ['$anchor', '$dynamicAnchor'])
      if (typeof schema[keyword] === 'string') this.#byUri.set(`${base}#${schema[keyword]}`, schema)
  }

  #listReferences(node: SchemaNode): Reference[] {
    return referenceKeywords.flatMap((keyword) => {
      const text = node.schema[keyword]
      if (typeof text !== 'string') return []
      return [{ node, keyword, text, target: this.resolve(text, node.schema) }]
    })
  }

  resolve(text: string, schema: JsonObject): JsonObject | boolean | undefined {
    const uri = resolveUri(text, this.#bases.get(schema) ?? unnamedBase)
    if (uri === undefined) return undefined
    const fragment = uri.slice(stripFragment(uri).length + 1)
    const resource = this.#byUri.get(stripFragment(uri))
    if (fragment === '') return resource
    if (!fragment.startsWith('/')) return this.#byUri.get(uri)
    return resource && followPointer(resource, fragment)
  }
}

/** The base of the nearest resource above a pointer. */
function findBase(bases: ReadonlyMap<string, string>, pointer: string): string {
  for (let place = pointer; ; place = place.slice(0, place.lastIndexOf('/'))) {
    const base = bases.get(place)
    if (base !== undefined) return base
    if (place === '') return unnamedBase
  }
}

const resolveUri = (text: string, base: string): string | undefined =>
  URL.canParse(text, base) ? new URL(text, base).href : undefined

const stripFragment = (uri: string): string => {
  const at = uri.indexOf('#')
  return at === -1 ? uri : uri.slice(0, at)
}

function followPointer(resource: JsonObject, fragment: string): JsonObject | boolean | undefined {
  let node: unknown = resource
  for (const segment of fragment.slice(1).split('/')) {
    const key = decodeSegment(segment)
    if (typeof node !== 'object' || node === null || key === undefined || !Object.hasOwn(node, key))
      return undefined
    node = (node as Record<string, unknown>)[key]
  }
  return isPlainObject(node) ? (node as JsonObject) : typeof node === 'boolean' ? node : undefined
}

/** The path of a reference that is a pointer in its own document. */
const toPath = (text: string): string[] =>
  text
    .replace(/^[^#]*#\/?/, '')
    .split('/')
    .map((segment) => decodeSegment(segment) ?? segment)

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return undefined
  }
}
