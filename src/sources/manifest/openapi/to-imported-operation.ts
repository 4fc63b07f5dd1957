import { isPlainObject, type Json, type JsonObject } from '../../../capability/json.ts'
import { readContract } from '../../../contracts/read-contract.ts'
import type { ManifestCapability, ManifestSchema } from '../reading/manifest-shape.ts'
import { hasMinLength, toSlug, toUnique } from './names.ts'
import type { DocumentNode, DocumentPath, Fields, OpenApiDocument } from './openapi-document.ts'
import { type AddReview, SchemaBundle } from './schema-bundle.ts'
import { type SecurityDraft, toSecurityDraft } from './to-security-draft.ts'

type Method = 'get' | 'head' | 'options' | 'trace' | 'post' | 'put' | 'patch' | 'delete'

interface Meaning {
  readonly level: ManifestCapability['side_effect_level']
  readonly idempotent: boolean
  readonly category: ManifestCapability['category']
}

/** What HTTP promises of a method; whether an API keeps it is for review. */
// biome-ignore format: table
export const methods: Readonly<Record<Method, Meaning>> = {
  get:     { level: 'none', idempotent: true,  category: 'retrieval' },
  head:    { level: 'none', idempotent: true,  category: 'retrieval' },
  options: { level: 'none', idempotent: true,  category: 'retrieval' },
  trace:   { level: 'none', idempotent: true,  category: 'retrieval' },
  post:    { level: 'low',  idempotent: false, category: 'action' },
  put:     { level: 'low',  idempotent: true,  category: 'action' },
  patch:   { level: 'low',  idempotent: false, category: 'action' },
  delete:  { level: 'high', idempotent: true,  category: 'action' },
}

export interface Operation {
  readonly method: Method
  /** As the document spells it. */
  readonly route: string
  readonly value: Fields
  readonly path: DocumentPath
  /** Those of the whole path, which the operation may override. */
  readonly shared: readonly DocumentNode[]
}

export interface CapabilityOptions {
  readonly document: OpenApiDocument
  /** Of the manifest. */
  readonly id: string
  readonly taken: ReadonlySet<string>
  readonly review: AddReview
}

export interface ImportedOperation {
  readonly capability: ManifestCapability
  readonly security: SecurityDraft
}

const longestId = 64
const shortestName = 3
const shortestDescription = 12

/** One operation as a capability. `review` gets paths inside it. */
export function toImportedOperation(
  operation: Operation,
  options: CapabilityOptions,
): ImportedOperation {
  const { method, route, value, path } = operation
  const { document, id, taken, review } = options
  const called = `${method.toUpperCase()} ${route}`
  const { level, idempotent, category } = methods[method]
  const guard = toSecurityDraft(value, path, level !== 'none', { document, id })
  const [summary, description, operationId] = [
    value.summary,
    value.description,
    value.operationId,
  ].map(toText)
  const slug = toSlug(operationId ?? '')
  const wanted = slug === '' ? toSlug(`${method} ${route}`) : slug
  const own = toUnique(wanted, taken, longestId)
  const name = [summary, operationId, called].find((text = '') => hasMinLength(text, shortestName))
  const words = [description, summary].find((text = '') => hasMinLength(text, shortestDescription))

  if (slug === '') review(['id'], `${called} has no operationId; made from method and path.`)
  else if (own !== wanted) review(['id'], `${wanted} was taken, or too long.`)
  if (words === undefined) review(['description'], `${called} is not described.`)
  review(['category'], `guessed from ${method.toUpperCase()}.`)
  review(['side_effect_level'], `guessed from ${method.toUpperCase()}.`)
  if (level !== 'none')
    review(
      ['idempotent'],
      `what HTTP promises of ${method.toUpperCase()}; whether the API keeps it, it does not say.`,
    )
  for (const doubt of guard.doubts) review(['permissions'], doubt)
  if (guard.permissions.length === 0 && level !== 'none')
    review(
      ['side_effect_level'],
      'no permission is asked for: everybody who may connect may call it.',
    )
  const capability: ManifestCapability = {
    id: own,
    name: name ?? called,
    description: words ?? `Calls ${called} of the API.`,
    category,
    input_schema: toInput(operation, options),
    output_schema: toOutput(operation, options),
    protocols: ['MCP', 'HTTP'],
    ...((guard.permissions.length > 0 || guard.doubts.length > 0) && {
      permissions: [...guard.permissions],
    }),
    idempotency_key_required: level !== 'none',
    idempotent,
    side_effect_level: level,
  }
  return { capability, security: guard }
}

const toText = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.trim() : undefined

/** Headers that OpenAPI itself says to ignore: others take care of them. */
const handledElsewhere = new Set(['accept', 'content-type', 'authorization'])

function toInput(operation: Operation, { document, review }: CapabilityOptions): ManifestSchema {
  const out = ['input_schema']
  const bundle = new SchemaBundle({ document, direction: 'input', out, review })
  const properties: Record<string, Json> = {}
  const required: string[] = []
  const add = (wanted: string, schema: Json, isRequired: boolean) => {
    properties[wanted] = schema
    if (isRequired) required.push(wanted)
  }
  for (const { value, path } of toParameters(operation, document)) {
    const [name, location] = [String(value.name), String(value.in)]
    if (location === 'header' && handledElsewhere.has(name.toLowerCase())) continue
    const key = Object.hasOwn(properties, name) ? `${location}_${name}` : name
    const there = [...out, 'properties', key]
    const [media] = isPlainObject(value.content) ? Object.entries(value.content) : []
    if (media) review(there, `sent as ${media[0]}.`)
    const form = media
      ? document.resolve(media[1], [...path, 'content', media[0]])?.value.schema
      : value.schema
    const at = media ? [...path, 'content', media[0], 'schema'] : [...path, 'schema']
    const schema = form === undefined ? {} : bundle.translate(form, at, there)
    add(key, describe(schema, value), location === 'path' || value.required === true)
  }
  const body = document.resolve(operation.value.requestBody, [...operation.path, 'requestBody'])
  if (body) {
    const key = Object.hasOwn(properties, 'body') ? 'request_body' : 'body'
    const there = [...out, 'properties', key]
    const content = pickContent(body, document, (message) => review(there, message))
    const schema = content ? bundle.translate(content.schema, content.path, there) : {}
    add(key, describe(schema, body.value), body.value.required === true)
  }
  const schema: JsonObject = {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...bundle.definitions,
  }
  return checked(schema, 'input', out, review)
}

function describe(schema: Json, { description, deprecated }: Fields): Json {
  if (!isPlainObject(schema)) return schema
  return {
    ...(typeof description === 'string' && { description: description.trim() }),
    ...(deprecated === true && { deprecated }),
    ...(schema as JsonObject),
  }
}

function toParameters(
  { value, path, shared }: Operation,
  document: OpenApiDocument,
): DocumentNode[] {
  const own = toParameterNodes(value.parameters, [...path, 'parameters'], document)
  const toKey = (place: DocumentNode) => `${String(place.value.in)} ${String(place.value.name)}`
  return [...new Map([...shared, ...own].map((place) => [toKey(place), place])).values()]
}

/** A list of parameters, each with what it refers to. */
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
  return list.flatMap((one, index) => {
    const place = document.resolve(one, [...path, index])
    if (!place) return []
    if (typeof place.value.name === 'string' && typeof place.value.in === 'string') return [place]
    document.reportFault(place.path, 'A parameter needs "name" and "in".')
    return []
  })
}

function toOutput(operation: Operation, { document, review }: CapabilityOptions): ManifestSchema {
  const out = ['output_schema']
  const bundle = new SchemaBundle({ document, direction: 'output', out, review })
  const at = [...operation.path, 'responses']
  const responses = document.resolve(operation.value.responses, at)
  const status = pickStatus(Object.keys(responses?.value ?? {}))
  const response =
    status === undefined ? undefined : document.resolve(responses?.value[status], [...at, status])
  const content = response && pickContent(response, document, (message) => review(out, message))
  const schema = bundle.translateRoot(content?.schema, content?.path ?? at)
  return checked({ ...schema, ...bundle.definitions }, 'output', out, review)
}

const pickStatus = (statuses: readonly string[]): string | undefined =>
  statuses.filter((status) => /^2\d\d$/.test(status)).sort()[0] ??
  statuses.find((status) => /^2xx$/i.test(status))

/** The form of a body: JSON where there is a choice. */
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
  if (!/\bjson\b/i.test(kind)) review(`it travels as ${kind}, not as JSON.`)
  const at = [...content.path, kind]
  const media = document.resolve(content.value[kind], at)
  return media && { schema: media.value.schema ?? true, path: [...media.path, 'schema'] }
}

/** A schema that would be refused when it is served is said now. */
function checked(
  schema: JsonObject,
  direction: 'input' | 'output',
  out: DocumentPath,
  review: AddReview,
): ManifestSchema {
  const reading = readContract(schema, direction)
  if ('fault' in reading) review(out, `it cannot be served as it is: ${reading.fault}.`)
  return schema as ManifestSchema
}
