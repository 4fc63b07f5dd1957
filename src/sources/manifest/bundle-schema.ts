import { isPlainObject, type JsonObject } from '../../capability/json.ts'
import type { LoadReference } from './load-reference.ts'

const mostDocuments = 32
const deepest = 64

/**
 * A schema with everything it refers to inside, under `$defs`: nobody has to fetch anything to read
 * it. Rejects with words for the operator when something cannot be had.
 */
export async function bundleSchema(schema: JsonObject, load: LoadReference): Promise<JsonObject> {
  const bundle = new Bundle(load)
  const { $ref, ...rest } = schema
  // Where the whole schema is a reference, what it refers to becomes the root.
  if (typeof $ref === 'string' && !$ref.startsWith('#') && isWrapper(rest)) {
    const { uri, fragment } = split($ref)
    if (fragment === '') {
      const { key, document } = await bundle.load(uri, undefined)
      if (!isPlainObject(document)) throw new Error(`${uri} is no JSON Schema object`)
      return bundle.close(await bundle.rewrite(document, { key, prefix: '#' }, 0))
    }
  }
  return bundle.close(await bundle.rewrite(schema, { key: undefined, prefix: '#' }, 0))
}

const isWrapper = (rest: JsonObject): boolean =>
  Object.keys(rest).every((key) => key === 'type') && rest.type === 'object'

interface Place {
  /** The document this is part of; the manifest where absent. */
  readonly key: string | undefined
  /** Where its root stands in the bundle. */
  readonly prefix: string
}

class Bundle {
  readonly #load: LoadReference
  readonly #names = new Map<string, string>()
  readonly #definitions: Record<string, unknown> = {}

  constructor(load: LoadReference) {
    this.#load = load
  }

  async load(uri: string, from: string | undefined) {
    try {
      return await this.#load(uri, from)
    } catch (error) {
      throw new Error(`${uri} cannot be read: ${(error as Error).message}`)
    }
  }

  async rewrite(node: unknown, place: Place, depth: number): Promise<unknown> {
    if (depth > deepest) throw new Error(`it is nested deeper than ${deepest} levels`)
    if (Array.isArray(node)) {
      // One after the other: documents are named in the order they are met.
      const items: unknown[] = []
      for (const item of node) items.push(await this.rewrite(item, place, depth + 1))
      return items
    }
    if (!isPlainObject(node)) return node
    const copy: Record<string, unknown> = {}
    for (const [key, item] of Object.entries(node)) {
      // The identity of a document says nothing once it is part of another one.
      if ((key === '$id' || key === '$schema') && place.key !== undefined) continue
      copy[key] =
        key === '$ref' && typeof item === 'string'
          ? await this.#point(item, place)
          : await this.rewrite(item, place, depth + 1)
    }
    return copy
  }

  async #point(reference: string, { key, prefix }: Place): Promise<string> {
    if (reference.startsWith('#')) {
      if (prefix === '#') return reference
      if (reference === '#') return prefix
      if (reference.startsWith('#/')) return `${prefix}${reference.slice(1)}`
      throw new Error(`${reference} is an anchor inside another document, which is not followed`)
    }
    const { uri, fragment } = split(reference)
    const found = await this.load(uri, key)
    const known = this.#names.get(found.key)
    if (known !== undefined) return `#/$defs/${known}${fragment}`
    if (this.#names.size >= mostDocuments)
      throw new Error(`it refers to more than ${mostDocuments} documents`)
    const name = `document_${this.#names.size + 1}`
    this.#names.set(found.key, name)
    const place = { key: found.key, prefix: `#/$defs/${name}` }
    this.#definitions[name] = await this.rewrite(found.document, place, 0)
    return `#/$defs/${name}${fragment}`
  }

  close(root: unknown): JsonObject {
    const schema = root as JsonObject
    if (Object.keys(this.#definitions).length === 0) return schema
    const own = isPlainObject(schema.$defs) ? schema.$defs : {}
    return { ...schema, $defs: { ...own, ...this.#definitions } } as JsonObject
  }
}

function split(reference: string): { uri: string; fragment: string } {
  const [uri = '', fragment = ''] = reference.split(/#(.*)/s)
  if (fragment !== '' && !fragment.startsWith('/'))
    throw new Error(`${reference} names an anchor, which is not followed`)
  return { uri, fragment }
}
