import type { JsonObject } from '../../../capability/json.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import type { LoadReference } from './load-reference.ts'
import { mapKeywords } from './map-keywords.ts'

const maxDocuments = 32

/**
 * Bundles a schema with all referenced documents under `$defs`, so that clients fetch nothing. Rejects
 * with a message for the operator if a document cannot be loaded.
 */
export async function bundleSchema(schema: JsonObject, load: LoadReference): Promise<JsonObject> {
  const { $ref, ...rest } = schema
  // A schema that is only a reference is replaced by the referenced document.
  if (typeof $ref === 'string' && !$ref.includes('#') && isWrapper(rest)) {
    const { key, document } = await tryLoad(load, $ref, undefined)
    if (!isPlainObject(document)) throw new Error(`${$ref} is not a JSON Schema object`)
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
  const ownNames = isPlainObject(root.$defs) ? Object.keys(root.$defs) : []
  const documents = new DocumentBundle(load, new Set(ownNames))
  const schema = (await documents.add(root, { key, prefix: '#' })) as JsonObject
  const { definitions } = documents
  if (Object.keys(definitions).length === 0) return schema
  return { ...schema, $defs: { ...(schema.$defs as JsonObject), ...definitions } } as JsonObject
}

interface DocumentLocation {
  /** The key of the document; absent for the manifest. */
  readonly key: string | undefined
  /** The JSON pointer of its root in the bundle. */
  readonly prefix: string
}

class DocumentBundle {
  readonly definitions: Record<string, unknown> = {}
  readonly #load: LoadReference
  readonly #reservedNames: ReadonlySet<string>
  readonly #names = new Map<string, string>()

  constructor(load: LoadReference, reservedNames: ReadonlySet<string>) {
    this.#load = load
    this.#reservedNames = reservedNames
  }

  /** Adds everything the document refers to, depth first; returns it with rewritten references. */
  async add(document: unknown, location: DocumentLocation): Promise<unknown> {
    const references = new Map<string, string>()
    mapKeywords(document, (keyword, value) => {
      if (keyword === '$ref' && typeof value === 'string') references.set(value, '')
    })
    for (const reference of references.keys())
      references.set(reference, await this.#toBundled(reference, location))
    return mapKeywords(document, (keyword, value) => {
      // A nested `$id` would change the base URI of the references below it.
      if ((keyword === '$id' || keyword === '$schema') && location.key !== undefined)
        return undefined
      return keyword === '$ref' && typeof value === 'string' ? references.get(value) : value
    })
  }

  async #toBundled(reference: string, { key, prefix }: DocumentLocation): Promise<string> {
    if (reference.startsWith('#'))
      return prefix === '#' ? reference : toInnerReference(reference, prefix)
    const [uri = '', fragment = ''] = reference.split(/#(.*)/s)
    if (fragment !== '' && !fragment.startsWith('/'))
      throw new Error(`${reference} uses an anchor, which is not supported; use a JSON pointer`)
    const target = await tryLoad(this.#load, uri, key)
    const existingName = this.#names.get(target.key)
    if (existingName !== undefined) return `#/$defs/${existingName}${fragment}`
    const name = this.#toName(target.key)
    const location = { key: target.key, prefix: `#/$defs/${name}` }
    this.definitions[name] = await this.add(target.document, location)
    return `#/$defs/${name}${fragment}`
  }

  #toName(key: string): string {
    if (this.#names.size >= maxDocuments)
      throw new Error(`it refers to more than ${maxDocuments} documents`)
    let number = this.#names.size + 1
    while (this.#reservedNames.has(`document_${number}`)) number += maxDocuments
    const name = `document_${number}`
    this.#names.set(key, name)
    return name
  }
}

/** Rewrites a local reference for a document that is nested at `prefix`. */
export function toInnerReference(reference: string, prefix: string): string {
  if (reference === '#') return prefix
  if (reference.startsWith('#/')) return `${prefix}${reference.slice(1)}`
  throw new Error(`${reference} uses an anchor, which is not supported; use a JSON pointer`)
}

async function tryLoad(load: LoadReference, uri: string, referrer: string | undefined) {
  try {
    return await load(uri, referrer)
  } catch (error) {
    throw new Error(`${uri} cannot be read: ${(error as Error).message}`)
  }
}
