/** The tools every contestant serves. Imports nothing, to keep the floor's start-up time minimal. */
export const toTools = (count) =>
  Array.from({ length: count }, (_, index) => ({
    name: toToolName(index),
    description: `Echo ${index}. Use when a text has to come back unchanged, for example to test a line.`,
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        text: { type: 'string' },
        times: { default: 1, type: 'integer', minimum: 1, maximum: 10 },
      },
      required: ['text'],
    },
  }))

export const toToolName = (index) => `echo_${index}`

export const serverInfo = { name: 'bench', version: '1.0.0' }

export const toResult = (text) => ({
  content: [{ type: 'text', text: JSON.stringify({ text }) }],
  structuredContent: { text },
})
