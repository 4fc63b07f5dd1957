import type { Json, JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { type OpenApiDocument, resolve } from '../document.ts'
import { Findings } from '../findings.ts'
import type { DeclaredOperation } from '../list-operations.ts'
import { isJsonMedia } from '../requests/media-types.ts'
import { type SchemaTranslator, SchemaUse } from '../schemas.ts'

/**
 * The schema of a successful result. Absent unless all successful responses are JSON with one schema:
 * any other result would be withheld.
 */
export function readOutputSchema(
  document: OpenApiDocument,
  { value, path }: DeclaredOperation,
  translator: SchemaTranslator,
): JsonObject | undefined {
  const findings = new Findings()
  const at = [...path, 'responses']
  const responses = resolve(document, value.responses, at, findings)?.value ?? {}
  const statuses = Object.keys(responses).filter((status) => /^2(?:\d\d|xx)$/i.test(status))
  const [status, ...others] = statuses
  if (status === undefined || others.length > 0) return undefined
  const response = resolve(document, responses[status], [...at, status], findings)
  const content =
    response && resolve(document, response.value.content, [...response.path, 'content'], findings)
  const [type, ...otherTypes] = Object.keys(content?.value ?? {})
  if (!content || type === undefined || otherTypes.length > 0 || !isJsonMedia(type))
    return undefined
  const media = resolve(document, content.value[type], [...content.path, type], findings)
  if (!media || media.value.schema === undefined) return undefined
  const use = new SchemaUse()
  const schema = translator.translate(media.value.schema, [...media.path, 'schema'], use)
  const definitions = translator.definitions(use)
  return use.findings.faults.length > 0 ? undefined : withRoot(schema, definitions)
}

/** A root that is a reference keeps it beside its definitions. */
const withRoot = (schema: Json, definitions: JsonObject): JsonObject =>
  isPlainObject(schema) ? { ...(schema as JsonObject), ...definitions } : definitions
