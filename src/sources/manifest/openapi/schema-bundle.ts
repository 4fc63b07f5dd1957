import { isPlainObject, type Json, type JsonObject } from '../../../capability/json.ts'
import { toUnique } from './names.ts'
import {
  type DocumentPath,
  type Fields,
  isLocalReference,
  type OpenApiDocument,
} from './openapi-document.ts'

export type AddReview = (path: DocumentPath, message: string) => void

export interface BundleOptions {
  readonly document: OpenApiDocument
  /** What only an answer holds is no part of a request, and the other way round. */
  readonly direction: 'input' | 'output'
  /** Where the schema will stand in the manifest. */
  readonly out: DocumentPath
  readonly review: AddReview
}

/** Schemas of OpenAPI as JSON Schema 2020-12; what they refer to comes along under `$defs`. */
export class SchemaBundle {
  readonly #options: BundleOptions
  readonly #names = new Map<string, string>()
  readonly #definitions: Record<string, Json> = {}

  constructor(options: BundleOptions) {
    this.#options = options
  }

  get definitions(): JsonObject {
    return Object.keys(this.#definitions).length > 0 ? { $defs: this.#definitions } : {}
  }

  /** A schema that stands inside another. */
  translate(schema: unknown, path: DocumentPath, out: DocumentPath): Json {
    const { document } = this.#options
    if (typeof schema === 'boolean') return schema
    if (!isPlainObject(schema)) {
      document.reportFault(path, 'This must be a schema.')
      return true
    }
    const { $ref, ...beside } = schema
    if (typeof $ref !== 'string') return this.#keywords(schema, path, out)
    const reference = this.#refer($ref, path, out)
    // In 3.0, what stands beside a reference does not count.
    return document.isVersion30 ? reference : { ...this.#keywords(beside, path, out), ...reference }
  }

  /** A schema that stands for itself: a reference is replaced by what it points to. */
  translateRoot(schema: unknown, path: DocumentPath): JsonObject {
    const { document, out, review } = this.#options
    if (
      isPlainObject(schema) &&
      typeof schema.$ref === 'string' &&
      !isLocalReference(schema.$ref)
    ) {
      const wrapped = this.translate(schema, path, [...out, 'properties', 'value'])
      return wrap(wrapped)
    }
    if (schema === true || schema === undefined) {
      review(out, 'Nothing is said about its form.')
      return { type: 'object' }
    }
    const place = document.resolve(schema, path)
    if (!place) return { type: 'object' }
    const { $ref, ...beside } = isPlainObject(schema) ? schema : {}
    const whole = this.#keywords(place.value, place.path, out)
    const more =
      $ref !== undefined && !document.isVersion30 ? this.#keywords(beside, path, out) : {}
    return this.#withType({ ...whole, ...more })
  }

  /** A manifest wants one type at the root. */
  #withType(schema: JsonObject): JsonObject {
    const { out, review } = this.#options
    if (typeof schema.type === 'string') return schema
    const [type, ...others] = [schema.type ?? []].flat().filter((one) => one !== 'null')
    if (type !== undefined && others.length === 0) {
      review(out, 'It may be null, which a manifest cannot say.')
      return { ...schema, type }
    }
    const guess = schema.type === undefined ? this.#guess(schema, 0) : undefined
    if (guess === undefined) {
      review(out, 'It has no type of its own, so it stands under "value".')
      return wrap(schema)
    }
    review(out, `No type is said; taken for ${guess}.`)
    return { type: guess, ...schema }
  }

  #guess(schema: Json | undefined, depth: number): string | undefined {
    if (!isPlainObject(schema) || depth > 8) return undefined
    if (typeof schema.type === 'string') return schema.type
    if (typeof schema.$ref === 'string')
      return this.#guess(this.#definitions[schema.$ref.replace('#/$defs/', '')], depth + 1)
    if (schema.properties !== undefined || schema.additionalProperties !== undefined)
      return 'object'
    if (schema.items !== undefined) return 'array'
    const parts = [schema.allOf, schema.anyOf, schema.oneOf].find(Array.isArray) as
      | Json[]
      | undefined
    const types = new Set(parts?.map((part) => this.#guess(part, depth + 1)))
    return types.size === 1 ? [...types][0] : undefined
  }

  #refer(reference: string, path: DocumentPath, out: DocumentPath): JsonObject {
    const { document, review } = this.#options
    const known = this.#names.get(reference)
    if (known !== undefined) return { $ref: `#/$defs/${known}` }
    const target = document.lookUp(reference)
    if (!target) {
      if (isLocalReference(reference))
        document.reportFault([...path, '$ref'], `${reference} points to nothing in this document.`)
      else review(out, `${reference} lies outside and is not fetched; anything is accepted here.`)
      return {}
    }
    const last = String(target.path.at(-1) ?? 'root').replaceAll(/[^\w.-]/g, '_')
    const name = toUnique(last, new Set(this.#names.values()), 100)
    this.#names.set(reference, name)
    // Takes its place first, so that definitions stand in the order they are met.
    this.#definitions[name] = true
    const definition = [...this.#options.out, '$defs', name]
    this.#definitions[name] = this.translate(target.value, target.path, definition)
    return { $ref: `#/$defs/${name}` }
  }

  #keywords(schema: Fields, path: DocumentPath, out: DocumentPath): JsonObject {
    const result: Record<string, Json> = {}
    for (const [keyword, value] of Object.entries(schema)) {
      const [here, there] = [
        [...path, keyword],
        [...out, keyword],
      ]
      if (dropped.has(keyword) || keyword.startsWith('x-')) continue
      if (byName.has(keyword) && isPlainObject(value))
        result[keyword] = Object.fromEntries(
          Object.entries(value)
            .filter(
              ([name, one]) => keyword !== 'properties' || this.#belongs(one, [...here, name]),
            )
            .map(([name, one]) => [name, this.translate(one, [...here, name], [...there, name])]),
        )
      else if (inList.has(keyword) && Array.isArray(value))
        result[keyword] = value.map((one, at) => this.translate(one, [...here, at], [...there, at]))
      else if (inside.has(keyword)) result[keyword] = this.translate(value, here, there)
      else result[keyword] = value as Json
    }
    if (schema.example !== undefined) result.examples = [schema.example as Json]
    this.#leaveOut(schema, result, path)
    this.#mend(result, out)
    return this.#options.document.isVersion30 ? modernise(result, schema) : result
  }

  /** Whether a property is part of what goes in, or of what comes out. */
  #belongs(property: unknown, path: DocumentPath): boolean {
    if (!isPlainObject(property)) return true
    const { document, direction } = this.#options
    const { $ref } = property
    const target =
      typeof $ref === 'string' && document.lookUp($ref)
        ? document.resolve(property, path)?.value
        : property
    return target?.[direction === 'input' ? 'readOnly' : 'writeOnly'] !== true
  }

  #leaveOut(schema: Fields, result: Record<string, Json>, path: DocumentPath): void {
    const { properties } = schema
    if (!Array.isArray(schema.required) || !isPlainObject(properties)) return
    const required = schema.required.filter(
      (name) =>
        !Object.hasOwn(properties, name) ||
        this.#belongs(properties[name], [...path, 'properties', name]),
    )
    if (required.length > 0) result.required = required
    else delete result.required
  }

  /** One word that nobody understands would take the whole capability down. */
  #mend(result: Record<string, Json>, out: DocumentPath): void {
    const { review } = this.#options
    const given: readonly unknown[] = result.type === undefined ? [] : [result.type].flat()
    const unknown = given.find((type) => typeof type !== 'string' || !types.has(type))
    if (unknown !== undefined) {
      review(
        out,
        `${JSON.stringify(unknown)} is no type of JSON Schema; anything is accepted here.`,
      )
      delete result.type
    }
    if (typeof result.pattern === 'string' && !compiles(result.pattern)) {
      review(out, `The pattern ${JSON.stringify(result.pattern)} does not compile and is left out.`)
      delete result.pattern
    }
  }
}

const wrap = (schema: Json): JsonObject => ({
  type: 'object',
  properties: { value: schema },
  required: ['value'],
})

const types = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])

/** Keywords of OpenAPI that JSON Schema does not know, and those that would change what a `$ref` means. */
const dropped = new Set([
  'discriminator',
  'xml',
  'externalDocs',
  'example',
  'nullable',
  '$schema',
  '$id',
])
const byName = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])
const inList = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const inside = new Set([
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
])

/** What the schemas of 3.0 say in words of their own. */
function modernise(schema: Record<string, Json>, { nullable }: Fields): JsonObject {
  for (const [flag, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof schema[flag] !== 'boolean') continue
    const { [flag]: isExclusive, [limit]: bound } = schema
    delete schema[flag]
    if (!isExclusive || bound === undefined) continue
    delete schema[limit]
    schema[flag] = bound
  }
  const encoding = encodings[String(schema.format)]
  if (schema.type === 'string' && encoding) {
    delete schema.format
    Object.assign(schema, encoding)
  }
  if (nullable !== true) return schema
  const { type, enum: values, ...rest } = schema
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] }
  return {
    type: [type as Json, 'null'].flat() as Json,
    ...(Array.isArray(values) && { enum: values.includes(null) ? values : [...values, null] }),
    ...rest,
  }
}

const encodings: Readonly<Record<string, JsonObject | undefined>> = {
  byte: { contentEncoding: 'base64' },
  binary: { contentMediaType: 'application/octet-stream' },
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}
