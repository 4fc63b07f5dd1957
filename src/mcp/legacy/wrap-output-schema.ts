import { isPlainObject } from '../../json/is-plain-object.ts'

type Schema = Readonly<Record<string, unknown>>

/**
 * 2025 allows only objects as structured content, so any other output is the property `result` of one. References to
 * the root of the schema then have to lead to that property.
 */
export function wrapOutputSchema(schema: Schema): Schema {
  const { $schema } = schema
  return {
    ...(typeof $schema === 'string' && { $schema }),
    type: 'object',
    properties: { result: hasOwnBase(schema) ? schema : moveReferences(schema) },
    required: ['result'],
  }
}

/** A schema with an `$id` is a document of its own: its references do not change. */
const hasOwnBase = ({ $id }: Schema): boolean => typeof $id === 'string' && !$id.startsWith('#')

const referenceKeys = new Set(['$ref', '$dynamicRef'])
/** Keywords whose values are data, not schemas. */
const dataKeys = new Set(['const', 'enum', 'default', 'examples'])
/** Keywords whose values map names to schemas; a name can look like a keyword. */
const mapKeys = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])

function moveReferences(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(moveReferences)
  if (!isPlainObject(node) || hasOwnBase(node)) return node
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, moveValue(key, value)]),
  )
}

function moveValue(key: string, value: unknown): unknown {
  if (referenceKeys.has(key) && typeof value === 'string') return moveReference(value)
  if (dataKeys.has(key)) return value
  if (mapKeys.has(key) && isPlainObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, schema]) => [name, moveReferences(schema)]),
    )
  return moveReferences(value)
}

const moveReference = (reference: string): string =>
  reference === '#' || reference.startsWith('#/')
    ? `#/properties/result${reference.slice(1)}`
    : reference
