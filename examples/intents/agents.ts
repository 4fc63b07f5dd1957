import { AgentError, defineAgent, z } from 'drawbridge-mcp'

const sku = z.object({ sku: z.string().describe('What it is called in the catalogue.') })
const price = z.object({ sku: z.string(), cents: z.number().int(), from: z.string() })
const prices: Record<string, number> = { lamp: 4900, chair: 12900, desk: 34900 }

/** Asked first, and down more often than not. */
const flaky = defineAgent({
  name: 'market',
  priority: 10,
  capabilities: [
    {
      intent: 'Quote',
      description: 'What something costs now. Takes the name of one thing; use it before Order.',
      inputSchema: sku,
      outputSchema: price,
      effects: 'read_only',
    },
  ],
  handle: () => {
    throw new AgentError('AGENT_UNAVAILABLE', 'The market is closed.', { retryable: true })
  },
})

/** Knows the list prices and takes orders. */
const clerk = defineAgent({
  name: 'clerk',
  priority: 20,
  capabilities: [
    { intent: 'Quote', inputSchema: sku, outputSchema: price, effects: 'read_only' },
    {
      intent: 'Order',
      description: 'Orders one thing at its list price. It is sent at once.',
      inputSchema: sku,
      effects: 'irreversible',
    },
  ],
  handle: ({ intent, payload }) => {
    const name = String(payload.sku)
    const cents = prices[name]
    if (cents === undefined) throw new AgentError('VALIDATION_ERROR', `There is no ${name}.`)
    return intent.name === 'Order'
      ? { sku: name, cents, ordered: true }
      : { sku: name, cents, from: 'the list' }
  },
})

export default [flaky, clerk]
