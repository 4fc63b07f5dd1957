import { defineTool, z } from 'drawbridge-mcp'

/** A JSON Schema is served unchanged, with all of its keywords. */
export const jsonSchema2020 = defineTool({
  name: 'json_schema_2020_12_tool',
  description: 'Tool with JSON Schema 2020-12 features',
  category: 'analysis',
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  },
  execute: (contact) => `Reached with ${JSON.stringify(contact)}`,
})

/** Arguments with `x-mcp-header` are also sent as HTTP headers, so that a proxy can route by them. */
export const paramHeader = defineTool({
  name: 'test_x_mcp_header',
  description: 'Says which region it was called for.',
  category: 'analysis',
  schema: z.object({
    region: z.string().meta({ 'x-mcp-header': 'Region' }).optional(),
    level: z.int().optional(),
  }),
  execute: ({ region }) => `region=${region}`,
})
