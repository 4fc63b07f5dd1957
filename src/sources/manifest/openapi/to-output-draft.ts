import type { Json, JsonObject } from '../../../capability/json.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import {
  type DocumentNode,
  type DocumentPath,
  type OpenApiDocument,
  resolve,
} from '../../../openapi/document.ts'
import type { Finding } from '../../../openapi/findings.ts'
import type { DeclaredOperation } from '../../../openapi/list-operations.ts'
import { type SchemaTranslator, SchemaUse } from '../../../openapi/schemas.ts'
import type { AddReview } from './from-openapi.ts'

export interface OutputDraft {
  readonly schema: JsonObject
  readonly faults: readonly Finding[]
}

/** The schema of the first successful response; a manifest requires a single type at its root. */
export function toOutputDraft(
  document: OpenApiDocument,
  { value, path }: DeclaredOperation,
  translator: SchemaTranslator,
  addReview: AddReview,
): OutputDraft {
  const use = new SchemaUse()
  const review = (message: string) => addReview(['output_schema'], message)
  const at = [...path, 'responses']
  const responses = resolve(document, value.responses, at, use.findings)
  const status = pickStatus(Object.keys(responses?.value ?? {}))
  const response =
    status === undefined
      ? undefined
      : resolve(document, responses?.value[status], [...at, status], use.findings)
  const content = response && pickContent(document, response, use, review)
  const schema = content ? toRoot(content, translator, use, review) : undefined
  if (!schema) review('The document has no schema for it.')
  const definitions = translator.definitions(use)
  for (const { message } of use.findings.remarks) review(message)
  return {
    schema: { ...(schema ?? { type: 'object' }), ...definitions },
    faults: use.findings.faults,
  }
}

const pickStatus = (statuses: readonly string[]): string | undefined =>
  statuses.filter((status) => /^2\d\d$/.test(status)).sort()[0] ??
  statuses.find((status) => /^2xx$/i.test(status))

interface SchemaPlace {
  readonly schema: unknown
  readonly path: DocumentPath
}

/** Picks the schema of one media type, preferably JSON. */
function pickContent(
  document: OpenApiDocument,
  { value, path }: DocumentNode,
  { findings }: SchemaUse,
  review: (message: string) => void,
): SchemaPlace | undefined {
  const content = resolve(document, value.content, [...path, 'content'], findings)
  const kinds = Object.keys(content?.value ?? {})
  const kind =
    kinds.find((one) => /^application\/json\b/i.test(one)) ??
    kinds.find((one) => /\bjson\b/i.test(one)) ??
    kinds[0]
  if (!content || kind === undefined) return undefined
  if (!/\bjson\b/i.test(kind)) review(`it is sent as ${kind}, not as JSON.`)
  const media = resolve(document, content.value[kind], [...content.path, kind], findings)
  return media && { schema: media.value.schema, path: [...media.path, 'schema'] }
}

/** A root that is a reference is replaced by its target. */
function toRoot(
  { schema, path }: SchemaPlace,
  translator: SchemaTranslator,
  use: SchemaUse,
  review: (message: string) => void,
): JsonObject | undefined {
  if (schema === undefined || schema === true) return undefined
  const translated = translator.translate(schema, path, use)
  const target = toTarget(translated, translator, use)
  return withType(isPlainObject(target) ? (target as JsonObject) : {}, translator, review)
}

function toTarget(schema: Json, translator: SchemaTranslator, use: SchemaUse, depth = 0): Json {
  if (!isPlainObject(schema) || typeof schema.$ref !== 'string' || depth > maxDepth) return schema
  const { $ref, ...siblings } = schema
  const target = translator.definition(toName(String($ref)))
  const inlined = target === undefined ? true : toTarget(target, translator, use, depth + 1)
  return isPlainObject(inlined) ? ({ ...inlined, ...siblings } as JsonObject) : inlined
}

const maxDepth = 8

const toName = (reference: string): string => reference.replace('#/$defs/', '')

function withType(
  schema: JsonObject,
  translator: SchemaTranslator,
  review: (message: string) => void,
): JsonObject {
  if (typeof schema.type === 'string') return schema
  const [type, ...others] = [schema.type ?? []].flat().filter((one) => one !== 'null')
  if (type !== undefined && others.length === 0) {
    review('It may be null, which a manifest cannot express.')
    return { ...schema, type }
  }
  const guess = schema.type === undefined ? guessType(schema, translator, 0) : undefined
  if (guess === undefined) {
    review('It has no single type, so it is wrapped in the property "value".')
    return { type: 'object', properties: { value: schema }, required: ['value'] }
  }
  review(`No type is given; assumed to be ${guess}.`)
  return { type: guess, ...schema }
}

function guessType(
  schema: Json | undefined,
  translator: SchemaTranslator,
  depth: number,
): string | undefined {
  if (!isPlainObject(schema) || depth > maxDepth) return undefined
  if (typeof schema.type === 'string') return schema.type
  if (typeof schema.$ref === 'string')
    return guessType(translator.definition(toName(schema.$ref)), translator, depth + 1)
  if (schema.properties !== undefined || schema.additionalProperties !== undefined) return 'object'
  if (schema.items !== undefined) return 'array'
  const parts = [schema.allOf, schema.anyOf, schema.oneOf].find(Array.isArray) as Json[] | undefined
  const types = new Set(parts?.map((part) => guessType(part, translator, depth + 1)))
  return types.size === 1 ? [...types][0] : undefined
}
