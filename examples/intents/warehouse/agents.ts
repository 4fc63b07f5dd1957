import { defineAgent, z } from 'drawbridge-mcp'

export default [
  defineAgent({
    name: 'shelf',
    capabilities: [
      {
        intent: 'quote_price',
        description: 'Returns the price of a product in stock.',
        inputSchema: z.object({ sku: z.string() }),
        effects: 'read_only',
      },
    ],
    handle: ({ payload }) => ({ sku: String(payload.sku), cents: 4500, from: 'the shelf' }),
  }),
]
