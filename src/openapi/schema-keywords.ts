export const schemaTypes: ReadonlySet<string> = new Set([
  'object',
  'array',
  'string',
  'number',
  'integer',
  'boolean',
  'null',
])

/** OpenAPI keywords that are not JSON Schema, and those that would change the base URI of a `$ref`. */
export const droppedKeywords: ReadonlySet<string> = new Set([
  'discriminator',
  'xml',
  'externalDocs',
  'example',
  'nullable',
  'collectionFormat',
  '$schema',
  '$id',
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$recursiveAnchor',
  '$recursiveRef',
])

export const namedSchemaKeywords: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])

export const schemaListKeywords: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'prefixItems',
])

export const schemaKeywords: ReadonlySet<string> = new Set([
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

/** The types that JSON Schema allows for the values of keywords. */
export const valueTypes: Readonly<Record<string, readonly string[]>> = {
  title: ['string'],
  description: ['string'],
  format: ['string'],
  pattern: ['string'],
  contentEncoding: ['string'],
  contentMediaType: ['string'],
  $comment: ['string'],
  minimum: ['number'],
  maximum: ['number'],
  // A boolean in OpenAPI 3.0, and in many documents that call themselves 3.1.
  exclusiveMinimum: ['number', 'boolean'],
  exclusiveMaximum: ['number', 'boolean'],
  multipleOf: ['number'],
  minLength: ['number'],
  maxLength: ['number'],
  minItems: ['number'],
  maxItems: ['number'],
  minProperties: ['number'],
  maxProperties: ['number'],
  minContains: ['number'],
  maxContains: ['number'],
  uniqueItems: ['boolean'],
  deprecated: ['boolean'],
  readOnly: ['boolean'],
  writeOnly: ['boolean'],
  enum: ['array'],
  examples: ['array'],
  allOf: ['array'],
  anyOf: ['array'],
  oneOf: ['array'],
  prefixItems: ['array'],
  properties: ['object'],
  patternProperties: ['object'],
  dependentSchemas: ['object'],
  dependentRequired: ['object'],
  $defs: ['object'],
  definitions: ['object'],
}
