import { AgentError, defineAgent, z } from 'drawbridge-mcp'

const sku = z.object({ sku: z.string().describe('Product name in the catalog.') })
const price = z.object({ sku: z.string(), cents: z.number().int(), from: z.string() })
const prices: Record<string, number> = { lamp: 4900, chair: 12900, desk: 34900 }

/** Has the highest priority and is always unavailable, to show the fallback. */
const market = defineAgent({
  name: 'market',
  priority: 10,
  capabilities: [
    {
      intent: 'quote_price',
      description: 'Returns the current price of a product; use it before place_order.',
      inputSchema: sku,
      outputSchema: price,
      effects: 'read_only',
    },
  ],
  handle: () => {
    throw new AgentError('AGENT_UNAVAILABLE', 'The market is closed.', { retryable: true })
  },
})

/** Knows the list prices and places orders. */
const clerk = defineAgent({
  name: 'clerk',
  priority: 20,
  capabilities: [
    { intent: 'quote_price', inputSchema: sku, outputSchema: price, effects: 'read_only' },
    {
      intent: 'place_order',
      description: 'Orders one product at its list price. It ships immediately.',
      inputSchema: sku,
      effects: 'irreversible',
    },
  ],
  handle: ({ intent, payload }) => {
    const name = String(payload.sku)
    const cents = prices[name]
    if (cents === undefined) throw new AgentError('VALIDATION_ERROR', `Unknown product ${name}.`)
    return intent.name === 'place_order'
      ? { sku: name, cents, ordered: true }
      : { sku: name, cents, from: 'the list' }
  },
})

export default [market, clerk]
