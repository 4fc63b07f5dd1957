import type { Json, JsonObject } from '../capability/json.ts'
import { type Responses, readResponses, toAccept } from './answers/responses.ts'
import type { OpenApiDocument } from './document.ts'
import type { Findings } from './findings.ts'
import type { DeclaredOperation } from './list-operations.ts'
import { type Parameter, readParameters } from './requests/parameters.ts'
import { type Body, readBody } from './requests/read-body.ts'
import { findRouteFault } from './requests/to-request.ts'
import { type SchemaTranslator, SchemaUse } from './schemas.ts'
import { readSecurity, type SecurityAlternatives } from './security/schemes.ts'

/** An operation with everything that a call needs. */
export interface Operation extends DeclaredOperation {
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly isDeprecated: boolean
  readonly parameters: readonly Parameter[]
  readonly body: Body | undefined
  /** The document requires an idempotency key, which is no argument. */
  readonly requiresKey: boolean
  readonly responses: Responses
  /** The header `Accept`. */
  readonly accept: string
  readonly security: SecurityAlternatives
  /** JSON Schema of the arguments. */
  readonly input: JsonObject
  readonly findings: Findings
}

/** Reads an operation. One with faults in its findings cannot be called. */
export function compileOperation(
  document: OpenApiDocument,
  declared: DeclaredOperation,
  translator: SchemaTranslator,
): Operation {
  const { value } = declared
  const use = new SchemaUse()
  const routeFault = findRouteFault(declared.route)
  if (routeFault !== undefined) use.findings.fault(declared.path, routeFault)
  const declaredParameters = readParameters(document, declared, translator, use)
  const parameters = declaredParameters.filter((one) => !isIdempotencyKey(one))
  const body = readBody(
    document,
    declared,
    new Set(parameters.map(({ argument }) => argument)),
    translator,
    use,
  )
  const responses = readResponses(document, declared, use.findings)
  return {
    ...declared,
    summary: toText(value.summary),
    description: toText(value.description),
    tags: Array.isArray(value.tags) ? value.tags.filter((tag) => typeof tag === 'string') : [],
    isDeprecated: value.deprecated === true,
    parameters,
    body,
    requiresKey: declaredParameters.some((one) => isIdempotencyKey(one) && one.isRequired),
    responses,
    accept: toAccept(responses),
    security: readSecurity(document, declared, use.findings),
    input: toInput(declared, parameters, body, translator, use),
    findings: use.findings,
  }
}

/** The key of a call is sent in this header: it is no argument of its own. */
const isIdempotencyKey = ({ place, name }: Parameter): boolean =>
  place === 'header' && name.toLowerCase() === 'idempotency-key'

const toText = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

function toInput(
  { path }: DeclaredOperation,
  parameters: readonly Parameter[],
  body: Body | undefined,
  translator: SchemaTranslator,
  use: SchemaUse,
): JsonObject {
  const all = [...parameters, ...(body ? [body] : [])]
  const properties: Record<string, Json> = {}
  for (const { argument, schema } of all)
    if (argument === '__proto__')
      use.findings.fault(path, 'A parameter is named __proto__, which is not possible.')
    else properties[argument] = schema
  const required = all.flatMap(({ argument, isRequired }) => (isRequired ? [argument] : []))
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...translator.definitions(use),
  }
}
