import type { Json, JsonObject } from '../../../capability/json.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
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
  /** `readOnly` properties are not part of an input, `writeOnly` ones not of an output. */
  readonly direction: 'input' | 'output'
  /** The path of the schema in the manifest. */
  readonly manifestPath: DocumentPath
  readonly review: AddReview
}

/** Converts OpenAPI schemas to JSON Schema 2020-12, with referenced schemas under `$defs`. */
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

  /** Converts a nested schema; references stay references. */
  translate(schema: unknown, path: DocumentPath, manifestPath: DocumentPath): Json {
    const { document } = this.#options
    if (typeof schema === 'boolean') return schema
    if (!isPlainObject(schema)) {
      document.reportFault(path, 'This must be a schema.')
      return true
    }
    const { $ref, ...siblings } = schema
    if (typeof $ref !== 'string') return this.#keywords(schema, path, manifestPath)
    const reference = this.#refer($ref, path, manifestPath)
    // OpenAPI 3.0 ignores keywords beside `$ref`.
    return document.isVersion30
      ? reference
      : { ...this.#keywords(siblings, path, manifestPath), ...reference }
  }

  /** Converts a root schema; a reference is replaced by its target. */
  translateRoot(schema: unknown, path: DocumentPath): JsonObject {
    const { document, manifestPath, review } = this.#options
    if (
      isPlainObject(schema) &&
      typeof schema.$ref === 'string' &&
      !isLocalReference(schema.$ref)
    ) {
      const target = this.translate(schema, path, [...manifestPath, 'properties', 'value'])
      return wrap(target)
    }
    if (schema === true || schema === undefined) {
      review(manifestPath, 'The document has no schema for it.')
      return { type: 'object' }
    }
    const node = document.resolve(schema, path)
    if (!node) return { type: 'object' }
    const { $ref, ...siblings } = isPlainObject(schema) ? schema : {}
    const target = this.#keywords(node.value, node.path, manifestPath)
    const overrides =
      $ref !== undefined && !document.isVersion30
        ? this.#keywords(siblings, path, manifestPath)
        : {}
    return this.#withType({ ...target, ...overrides })
  }

  /** A manifest requires a single type at the root. */
  #withType(schema: JsonObject): JsonObject {
    const { manifestPath, review } = this.#options
    if (typeof schema.type === 'string') return schema
    const [type, ...others] = [schema.type ?? []].flat().filter((one) => one !== 'null')
    if (type !== undefined && others.length === 0) {
      review(manifestPath, 'It may be null, which a manifest cannot express.')
      return { ...schema, type }
    }
    const guess = schema.type === undefined ? this.#guess(schema, 0) : undefined
    if (guess === undefined) {
      review(manifestPath, 'It has no single type, so it is wrapped in the property "value".')
      return wrap(schema)
    }
    review(manifestPath, `No type is given; assumed to be ${guess}.`)
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

  #refer(reference: string, path: DocumentPath, manifestPath: DocumentPath): JsonObject {
    const { document, review } = this.#options
    const existingName = this.#names.get(reference)
    if (existingName !== undefined) return { $ref: `#/$defs/${existingName}` }
    const target = document.lookUp(reference)
    if (!target) {
      if (isLocalReference(reference))
        document.reportFault([...path, '$ref'], `${reference} does not exist in this document.`)
      else
        review(
          manifestPath,
          `${reference} is outside of this document and is not fetched; any value is accepted here.`,
        )
      return {}
    }
    const lastSegment = String(target.path.at(-1) ?? 'root').replaceAll(/[^\w.-]/g, '_')
    const name = toUnique(lastSegment, new Set(this.#names.values()), 100)
    this.#names.set(reference, name)
    // Reserves the key first, so that definitions are in the order of their first reference.
    this.#definitions[name] = true
    const definition = [...this.#options.manifestPath, '$defs', name]
    this.#definitions[name] = this.translate(target.value, target.path, definition)
    return { $ref: `#/$defs/${name}` }
  }

  #keywords(schema: Fields, path: DocumentPath, manifestPath: DocumentPath): JsonObject {
    const result: Record<string, Json> = {}
    for (const [keyword, value] of Object.entries(schema)) {
      const childPath = [...path, keyword]
      const childManifestPath = [...manifestPath, keyword]
      if (droppedKeywords.has(keyword) || keyword.startsWith('x-')) continue
      if (namedSchemaKeywords.has(keyword) && isPlainObject(value))
        result[keyword] = Object.fromEntries(
          Object.entries(value)
            .filter(
              ([name, child]) =>
                keyword !== 'properties' || this.#isIncluded(child, [...childPath, name]),
            )
            .map(([name, child]) => [
              name,
              this.translate(child, [...childPath, name], [...childManifestPath, name]),
            ]),
        )
      else if (schemaListKeywords.has(keyword) && Array.isArray(value))
        result[keyword] = value.map((child, at) =>
          this.translate(child, [...childPath, at], [...childManifestPath, at]),
        )
      else if (schemaKeywords.has(keyword))
        result[keyword] = this.translate(value, childPath, childManifestPath)
      else result[keyword] = value as Json
    }
    if (schema.example !== undefined) result.examples = [schema.example as Json]
    this.#filterRequired(schema, result, path)
    this.#removeInvalid(result, manifestPath)
    return this.#options.document.isVersion30 ? fromVersion30(result, schema) : result
  }

  /** `false` for `readOnly` properties of an input and `writeOnly` properties of an output. */
  #isIncluded(property: unknown, path: DocumentPath): boolean {
    if (!isPlainObject(property)) return true
    const { document, direction } = this.#options
    const { $ref } = property
    const target =
      typeof $ref === 'string' && document.lookUp($ref)
        ? document.resolve(property, path)?.value
        : property
    return target?.[direction === 'input' ? 'readOnly' : 'writeOnly'] !== true
  }

  #filterRequired(schema: Fields, result: Record<string, Json>, path: DocumentPath): void {
    const { properties } = schema
    if (!Array.isArray(schema.required) || !isPlainObject(properties)) return
    const required = schema.required.filter(
      (name) =>
        !Object.hasOwn(properties, name) ||
        this.#isIncluded(properties[name], [...path, 'properties', name]),
    )
    if (required.length > 0) result.required = required
    else delete result.required
  }

  /** An invalid type or pattern would make the whole capability unusable. */
  #removeInvalid(result: Record<string, Json>, manifestPath: DocumentPath): void {
    const { review } = this.#options
    const typeList: readonly unknown[] = result.type === undefined ? [] : [result.type].flat()
    const unknownType = typeList.find((type) => typeof type !== 'string' || !types.has(type))
    if (unknownType !== undefined) {
      review(
        manifestPath,
        `${JSON.stringify(unknownType)} is not a JSON Schema type; any value is accepted here.`,
      )
      delete result.type
    }
    if (typeof result.pattern === 'string' && !isValidPattern(result.pattern)) {
      review(
        manifestPath,
        `The pattern ${JSON.stringify(result.pattern)} is not a valid regular expression and is removed.`,
      )
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

/** OpenAPI keywords that are not JSON Schema, and those that would change the base URI of a `$ref`. */
const droppedKeywords = new Set([
  'discriminator',
  'xml',
  'externalDocs',
  'example',
  'nullable',
  '$schema',
  '$id',
])
const namedSchemaKeywords = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])
const schemaListKeywords = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const schemaKeywords = new Set([
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

/** Converts OpenAPI 3.0 keywords (`nullable`, boolean `exclusiveMinimum`, `byte`, `binary`). */
function fromVersion30(schema: Record<string, Json>, { nullable }: Fields): JsonObject {
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
    ...dropUndefined({ enum: Array.isArray(values) ? withNull(values) : undefined }),
    ...rest,
  }
}

const withNull = (values: readonly Json[]): readonly Json[] =>
  values.includes(null) ? values : [...values, null]

const encodings: Readonly<Record<string, JsonObject | undefined>> = {
  byte: { contentEncoding: 'base64' },
  binary: { contentMediaType: 'application/octet-stream' },
}

function isValidPattern(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}
