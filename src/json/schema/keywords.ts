/** Keywords whose value is a map of schemas; its keys are names, not keywords. */
export const schemaMapKeywords: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])

/** Keywords whose value is a schema or a list of schemas. */
export const schemaKeywords: ReadonlySet<string> = new Set([
  'items',
  'prefixItems',
  'contains',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'propertyNames',
  'contentSchema',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
])

/** Keywords of older drafts with schemas inside; `dependencies` also maps names to lists of names. */
export const olderSchemaKeywords: ReadonlySet<string> = new Set([
  'additionalItems',
  'extends',
  'disallow',
])

/** Keywords that do not decide which values are valid. */
export const annotationKeywords: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
])

/** All keywords of JSON Schema, also of older drafts, but for `id`, which is more often a property. */
export const allKeywords: ReadonlySet<string> = new Set([
  ...schemaMapKeywords,
  ...schemaKeywords,
  ...olderSchemaKeywords,
  ...annotationKeywords,
  '$schema',
  '$id',
  '$ref',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
  '$vocabulary',
  'type',
  'enum',
  'const',
  'required',
  'dependentRequired',
  'dependencies',
  'minProperties',
  'maxProperties',
  'minItems',
  'maxItems',
  'minContains',
  'maxContains',
  'uniqueItems',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'divisibleBy',
  'contentEncoding',
  'contentMediaType',
  'nullable',
  'discriminator',
  'xml',
  'externalDocs',
  'example',
])
