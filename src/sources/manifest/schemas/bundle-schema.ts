import { isPlainObject, type JsonObject } from '../../../capability/json.ts'
import type { LoadReference } from './load-reference.ts'
import { mapKeywords } from './schema-keywords.ts'

const mostDocuments = 32

/**
 * A schema with everything it refers to inside, under `$defs`: nobody has to fetch anything to read
 * it. Rejects with words for the operator when something cannot be had.
 */
export async function bundleSchema(schema: JsonObject, load: LoadReference): Promise<JsonObject> {
  const { $ref, ...rest } = schema
  // Where the whole schema is a reference, what it refers to becomes the root.
  if (typeof $ref === 'string' && !$ref.includes('#') && isWrapper(rest)) {
    const { key, document } = await tryLoad(load, $ref, undefined)
    if (!isPlainObject(document)) throw new Error(`${$ref} is no JSON Schema object`)
    return bundle(document as JsonObject, key, load)
  }
  return bundle(schema, undefined, load)
}

const isWrapper = (rest: JsonObject): boolean =>
  Object.keys(rest).length === 1 && rest.type === 'object'

async function bundle(
  root: JsonObject,
  key: string | undefined,
  load: LoadReference,
): Promise<JsonObject> {
  const own = isPlainObject(root.$defs) ? Object.keys(root.$defs) : []
  const documents = new Documents(load, new Set(own))
  const schema = (await documents.take(root, { key, prefix: '#' })) as JsonObject
  const { definitions } = documents
  if (Object.keys(definitions).length === 0) return schema
  return { ...schema, $defs: { ...(schema.$defs as JsonObject), ...definitions } } as JsonObject
}

interface Place {
  /** The document this is part of; the manifest where absent. */
  readonly key: string | undefined
  /** Where its root stands in the bundle. */
  readonly prefix: string
}

class Documents {
  readonly definitions: Record<string, unknown> = {}
  readonly #load: LoadReference
  readonly #taken: ReadonlySet<string>
  readonly #names = new Map<string, string>()

  constructor(load: LoadReference, taken: ReadonlySet<string>) {
    this.#load = load
    this.#taken = taken
  }

  /** First everything it refers to, in the order it is met; then itself, pointing at that. */
  async take(document: unknown, place: Place): Promise<unknown> {
    const references = new Map<string, string>()
    mapKeywords(document, (keyword, value) => {
      if (keyword === '$ref' && typeof value === 'string') references.set(value, '')
    })
    for (const reference of references.keys())
      references.set(reference, await this.#point(reference, place))
    return mapKeywords(document, (keyword, value) => {
      // The identity of a document says nothing once it is part of another one.
      if ((keyword === '$id' || keyword === '$schema') && place.key !== undefined) return undefined
      return keyword === '$ref' && typeof value === 'string' ? references.get(value) : value
    })
  }

  async #point(reference: string, { key, prefix }: Place): Promise<string> {
    if (reference.startsWith('#')) return prefix === '#' ? reference : toInnerReference(reference, prefix)
    const [uri = '', fragment = ''] = reference.split(/#(.*)/s)
    if (fragment !== '' && !fragment.startsWith('/'))
      throw new Error(`${reference} names an anchor, which is not followed`)
    const found = await tryLoad(this.#load, uri, key)
    const known = this.#names.get(found.key)
    if (known !== undefined) return `#/$defs/${known}${fragment}`
    const name = this.#toName(found.key)
    const inner = { key: found.key, prefix: `#/$defs/${name}` }
    this.definitions[name] = await this.take(found.document, inner)
    return `#/$defs/${name}${fragment}`
  }

  #toName(key: string): string {
    if (this.#names.size >= mostDocuments)
      throw new Error(`it refers to more than ${mostDocuments} documents`)
    let number = this.#names.size + 1
    while (this.#taken.has(`document_${number}`)) number += mostDocuments
    const name = `document_${number}`
    this.#names.set(key, name)
    return name
  }
}

/** A pointer into a document, once that stands somewhere inside another one. */
export function toInnerReference(reference: string, prefix: string): string {
  if (reference === '#') return prefix
  if (reference.startsWith('#/')) return `${prefix}${reference.slice(1)}`
  throw new Error(`${reference} is an anchor inside another document, which is not followed`)
}

async function tryLoad(load: LoadReference, uri: string, from: string | undefined) {
  try {
    return await load(uri, from)
  } catch (error) {
    throw new Error(`${uri} cannot be read: ${(error as Error).message}`)
  }
}
