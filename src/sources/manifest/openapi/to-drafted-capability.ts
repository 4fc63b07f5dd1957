import { isFault } from '../../../capability/fault.ts'
import type { Json, JsonObject } from '../../../capability/json.ts'
import { readContract } from '../../../contracts/read-contract.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import type { Operation } from '../../../openapi/compile-operation.ts'
import type { OpenApiDocument } from '../../../openapi/document.ts'
import type { Finding } from '../../../openapi/findings.ts'
import { type Method, methodEffects } from '../../../openapi/methods.ts'
import type { SchemaTranslator } from '../../../openapi/schemas.ts'
import type { ManifestCapability, ManifestSchema } from '../reading/manifest-shape.ts'
import type { AddReview } from './from-openapi.ts'
import { hasMinLength, toSlug } from './slugs.ts'
import { toOutputDraft } from './to-output-draft.ts'
import { type SecurityDraft, toSecurityDraft } from './to-security-draft.ts'

export interface CapabilityOptions {
  readonly document: OpenApiDocument
  /** The id of the manifest; prefix of invented permissions. */
  readonly manifestId: string
  readonly id: string
  readonly outputs: SchemaTranslator
  /** Paths are relative to the capability. */
  readonly review: AddReview
}

export interface DraftedCapability {
  readonly capability: ManifestCapability
  readonly security: SecurityDraft
  readonly faults: readonly Finding[]
}

const minNameLength = 3
const minDescriptionLength = 12

/** Converts an operation to a capability. */
export function toDraftedCapability(
  operation: Operation,
  { document, manifestId, id, outputs, review }: CapabilityOptions,
): DraftedCapability {
  const { method, route, summary, description, value, findings } = operation
  const label = `${method.toUpperCase()} ${route}`
  const { writes, repeatable } = methodEffects[method]
  const security = toSecurityDraft(operation.security, writes, manifestId)
  const declaredId = typeof value.operationId === 'string' ? value.operationId : ''
  const name = [summary, declaredId, label].find((text) => hasMinLength(text, minNameLength))
  const text = [description, summary].find((one) => hasMinLength(one, minDescriptionLength))

  if (toSlug(declaredId) === '')
    review(['id'], `${label} has no operationId; derived from method and path.`)
  else if (id !== toSlug(declaredId)) review(['id'], `${declaredId} is not unique or too long.`)
  if (text === undefined) review(['description'], `${label} has no description.`)
  review(['category'], `guessed from ${method.toUpperCase()}.`)
  review(['side_effect_level'], `guessed from ${method.toUpperCase()}.`)
  if (writes)
    review(
      ['idempotent'],
      `the semantics of ${method.toUpperCase()} in HTTP; confirm that the API follows them.`,
    )
  for (const note of security.notes) review(['permissions'], note)
  if (security.permissions.length === 0 && writes)
    review(['side_effect_level'], 'no permission is required: every connected client may call it.')
  for (const { message } of [...findings.remarks, ...findings.notes])
    review(['input_schema'], message)
  const output = toOutputDraft(document, operation, outputs, review)
  const hasSecurity = security.permissions.length > 0 || security.notes.length > 0
  const capability: ManifestCapability = {
    id,
    name: name ?? label,
    description: text ?? `Calls ${label} of the API.`,
    category: writes ? 'action' : 'retrieval',
    input_schema: checkSchema(operation.input, 'input', review),
    output_schema: checkSchema(output.schema, 'output', review),
    protocols: ['MCP', 'HTTP'],
    ...dropUndefined({ permissions: hasSecurity ? [...security.permissions] : undefined }),
    idempotency_key_required: writes,
    idempotent: repeatable,
    side_effect_level: toLevel(method),
  }
  return { capability, security, faults: [...findings.faults, ...output.faults] }
}

function toLevel(method: Method): ManifestCapability['side_effect_level'] {
  const { writes, irreversible } = methodEffects[method]
  return irreversible ? 'high' : writes ? 'low' : 'none'
}

/** Adds a review if the schema could not be served. */
function checkSchema(
  schema: JsonObject,
  direction: 'input' | 'output',
  review: AddReview,
): ManifestSchema {
  const reading = readContract(schema, direction)
  if (isFault(reading)) review([`${direction}_schema`], `it cannot be served: ${reading.fault}.`)
  // The translator makes JSON; the shape of the manifest is checked at the end.
  const copy: Record<string, Json | undefined> = { ...schema }
  return copy as ManifestSchema
}
