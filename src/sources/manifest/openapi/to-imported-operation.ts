import { isFault } from '../../../capability/fault.ts'
import type { Json, JsonObject } from '../../../capability/json.ts'
import { readContract } from '../../../contracts/read-contract.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import type { ManifestCapability, ManifestSchema } from '../reading/manifest-shape.ts'
import { hasMinLength, toSlug, toUnique } from './names.ts'
import type { DocumentNode, DocumentPath, Fields, OpenApiDocument } from './openapi-document.ts'
import { type AddReview, SchemaBundle } from './schema-bundle.ts'
import { type SecurityDraft, toSecurityDraft } from './to-security-draft.ts'

type Method = 'get' | 'head' | 'options' | 'trace' | 'post' | 'put' | 'patch' | 'delete'

interface MethodSemantics {
  readonly level: ManifestCapability['side_effect_level']
  readonly idempotent: boolean
  readonly category: ManifestCapability['category']
}

/** Semantics of HTTP methods (RFC 9110); a reviewer confirms that the API follows them. */
// biome-ignore format: table
export const methodSemantics: Readonly<Record<Method, MethodSemantics>> = {
  get:     { level: 'none', idempotent: true,  category: 'retrieval' },
  head:    { level: 'none', idempotent: true,  category: 'retrieval' },
  options: { level: 'none', idempotent: true,  category: 'retrieval' },
  trace:   { level: 'none', idempotent: true,  category: 'retrieval' },
  post:    { level: 'low',  idempotent: false, category: 'action' },
  put:     { level: 'low',  idempotent: true,  category: 'action' },
  patch:   { level: 'low',  idempotent: false, category: 'action' },
  delete:  { level: 'high', idempotent: true,  category: 'action' },
}

/** An operation of the document, by method and path. */
export interface Operation {
  readonly method: Method
  /** The path template as written in the document. */
  readonly route: string
  readonly value: Fields
  readonly path: DocumentPath
  /** Parameters of the path item, which the operation may override. */
  readonly sharedParameters: readonly DocumentNode[]
}

export interface CapabilityOptions {
  readonly document: OpenApiDocument
  /** The id of the manifest. */
  readonly id: string
  readonly usedIds: ReadonlySet<string>
  readonly review: AddReview
}

export interface ImportedOperation {
  readonly capability: ManifestCapability
  readonly security: SecurityDraft
}

const maxIdLength = 64
const minNameLength = 3
const minDescriptionLength = 12

/** Converts an operation to a capability. Paths passed to `review` are relative to it. */
export function toImportedOperation(
  operation: Operation,
  options: CapabilityOptions,
): ImportedOperation {
  const { method, route, value, path } = operation
  const { document, id, usedIds, review } = options
  const label = `${method.toUpperCase()} ${route}`
  const { level, idempotent, category } = methodSemantics[method]
  const security = toSecurityDraft(value, path, level !== 'none', { document, id })
  const [summary, description, operationId] = [
    value.summary,
    value.description,
    value.operationId,
  ].map(toText)
  const slug = toSlug(operationId ?? '')
  const preferredId = slug === '' ? toSlug(`${method} ${route}`) : slug
  const uniqueId = toUnique(preferredId, usedIds, maxIdLength)
  const name = [summary, operationId, label].find((candidate = '') =>
    hasMinLength(candidate, minNameLength),
  )
  const text = [description, summary].find((candidate = '') =>
    hasMinLength(candidate, minDescriptionLength),
  )

  if (slug === '') review(['id'], `${label} has no operationId; derived from method and path.`)
  else if (uniqueId !== preferredId) review(['id'], `${preferredId} is already used or too long.`)
  if (text === undefined) review(['description'], `${label} has no description.`)
  review(['category'], `guessed from ${method.toUpperCase()}.`)
  review(['side_effect_level'], `guessed from ${method.toUpperCase()}.`)
  if (level !== 'none')
    review(
      ['idempotent'],
      `the semantics of ${method.toUpperCase()} in HTTP; confirm that the API follows them.`,
    )
  for (const note of security.notes) review(['permissions'], note)
  if (security.permissions.length === 0 && level !== 'none')
    review(['side_effect_level'], 'no permission is required: every connected client may call it.')
  const hasSecurity = security.permissions.length > 0 || security.notes.length > 0
  const capability: ManifestCapability = {
    id: uniqueId,
    name: name ?? label,
    description: text ?? `Calls ${label} of the API.`,
    category,
    input_schema: toInput(operation, options),
    output_schema: toOutput(operation, options),
    protocols: ['MCP', 'HTTP'],
    ...dropUndefined({
      permissions: hasSecurity ? [...security.permissions] : undefined,
    }),
    idempotency_key_required: level !== 'none',
    idempotent,
    side_effect_level: level,
  }
  return { capability, security }
}

const toText = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.trim() : undefined

/** Header parameters that OpenAPI says to ignore. */
const ignoredHeaders = new Set(['accept', 'content-type', 'authorization'])

function toInput(operation: Operation, { document, review }: CapabilityOptions): ManifestSchema {
  const manifestPath = ['input_schema']
  const bundle = new SchemaBundle({ document, direction: 'input', manifestPath, review })
  const properties: Record<string, Json> = {}
  const required: string[] = []
  const add = (name: string, schema: Json, isRequired: boolean) => {
    properties[name] = schema
    if (isRequired) required.push(name)
  }
  for (const { value, path } of toParameters(operation, document)) {
    const [name, location] = [String(value.name), String(value.in)]
    if (location === 'header' && ignoredHeaders.has(name.toLowerCase())) continue
    const key = Object.hasOwn(properties, name) ? `${location}_${name}` : name
    const target = [...manifestPath, 'properties', key]
    const [media] = isPlainObject(value.content) ? Object.entries(value.content) : []
    if (media) review(target, `sent as ${media[0]}.`)
    const form = media
      ? document.resolve(media[1], [...path, 'content', media[0]])?.value.schema
      : value.schema
    const at = media ? [...path, 'content', media[0], 'schema'] : [...path, 'schema']
    const schema = form === undefined ? {} : bundle.translate(form, at, target)
    add(key, describe(schema, value), location === 'path' || value.required === true)
  }
  const body = document.resolve(operation.value.requestBody, [...operation.path, 'requestBody'])
  if (body) {
    const key = Object.hasOwn(properties, 'body') ? 'request_body' : 'body'
    const target = [...manifestPath, 'properties', key]
    const content = pickContent(body, document, (message) => review(target, message))
    const schema = content ? bundle.translate(content.schema, content.path, target) : {}
    add(key, describe(schema, body.value), body.value.required === true)
  }
  const schema: JsonObject = {
    type: 'object',
    properties,
    ...dropUndefined({ required: required.length > 0 ? required : undefined }),
    additionalProperties: false,
    ...bundle.definitions,
  }
  return reviewSchema(schema, 'input', manifestPath, review)
}

function describe(schema: Json, { description, deprecated }: Fields): Json {
  if (!isPlainObject(schema)) return schema
  return {
    ...dropUndefined({
      description: toText(description),
      deprecated: deprecated === true ? deprecated : undefined,
    }),
    ...(schema as JsonObject),
  }
}

function toParameters(
  { value, path, sharedParameters }: Operation,
  document: OpenApiDocument,
): DocumentNode[] {
  const parameters = toParameterNodes(value.parameters, [...path, 'parameters'], document)
  const toKey = (node: DocumentNode) => `${String(node.value.in)} ${String(node.value.name)}`
  return [
    ...new Map([...sharedParameters, ...parameters].map((node) => [toKey(node), node])).values(),
  ]
}

/** Resolves the references in a list of parameters. */
export function toParameterNodes(
  list: unknown,
  path: DocumentPath,
  document: OpenApiDocument,
): DocumentNode[] {
  if (list === undefined) return []
  if (!Array.isArray(list)) {
    document.reportFault(path, 'parameters must be a list.')
    return []
  }
  return list.flatMap((item, index) => {
    const node = document.resolve(item, [...path, index])
    if (!node) return []
    if (typeof node.value.name === 'string' && typeof node.value.in === 'string') return [node]
    document.reportFault(node.path, 'A parameter needs "name" and "in".')
    return []
  })
}

function toOutput(operation: Operation, { document, review }: CapabilityOptions): ManifestSchema {
  const manifestPath = ['output_schema']
  const bundle = new SchemaBundle({ document, direction: 'output', manifestPath, review })
  const at = [...operation.path, 'responses']
  const responses = document.resolve(operation.value.responses, at)
  const status = pickStatus(Object.keys(responses?.value ?? {}))
  const response =
    status === undefined ? undefined : document.resolve(responses?.value[status], [...at, status])
  const content =
    response && pickContent(response, document, (message) => review(manifestPath, message))
  const schema = bundle.translateRoot(content?.schema, content?.path ?? at)
  return reviewSchema({ ...schema, ...bundle.definitions }, 'output', manifestPath, review)
}

const pickStatus = (statuses: readonly string[]): string | undefined =>
  statuses.filter((status) => /^2\d\d$/.test(status)).sort()[0] ??
  statuses.find((status) => /^2xx$/i.test(status))

/** Picks the schema of one media type, preferably JSON. */
function pickContent(
  { value, path }: DocumentNode,
  document: OpenApiDocument,
  review: (message: string) => void,
): { schema: unknown; path: DocumentPath } | undefined {
  const content = document.resolve(value.content, [...path, 'content'])
  const kinds = Object.keys(content?.value ?? {})
  const kind =
    kinds.find((one) => /^application\/json\b/i.test(one)) ??
    kinds.find((one) => /\bjson\b/i.test(one)) ??
    kinds[0]
  if (!content || kind === undefined) return undefined
  if (!/\bjson\b/i.test(kind)) review(`it is sent as ${kind}, not as JSON.`)
  const at = [...content.path, kind]
  const media = document.resolve(content.value[kind], at)
  return media && { schema: media.value.schema ?? true, path: [...media.path, 'schema'] }
}

/** Adds a review if the schema could not be served. */
function reviewSchema(
  schema: JsonObject,
  direction: 'input' | 'output',
  manifestPath: DocumentPath,
  review: AddReview,
): ManifestSchema {
  const reading = readContract(schema, direction)
  if (isFault(reading)) review(manifestPath, `it cannot be served: ${reading.fault}.`)
  return schema as ManifestSchema
}
