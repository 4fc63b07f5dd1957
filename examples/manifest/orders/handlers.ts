import { failureSet } from 'drawbridge-mcp'

/** What the INTERNAL capabilities of agent.yaml do, by their ids. The orders live in memory. */
interface Order {
  state: 'open' | 'shipped' | 'refunded'
  amount: { value: number; currency: string }
  notes: string[]
}

const orders = new Map<string, Order>([
  ['A-1001', { state: 'shipped', amount: { value: 25, currency: 'EUR' }, notes: [] }],
  ['A-1002', { state: 'open', amount: { value: 12.5, currency: 'EUR' }, notes: ['Call first.'] }],
])

const cannot = failureSet({ order_unknown: 'model', order_refunded: 'model' })

/** Expected trouble is returned, for the model to read; what is thrown is the operator's. */
const withOrder =
  <Input extends { order: string }>(run: (order: Order, input: Input) => object) =>
  (input: Input) => {
    const order = orders.get(input.order)
    return order
      ? run(order, input)
      : cannot('order_unknown', `There is no order ${input.order}. There is A-1001 and A-1002.`)
  }

export const lookUpOrder = withOrder((found, { order }) => ({ order, ...found }))

export const addNote = withOrder((found, { order, note }: { order: string; note: string }) => ({
  order,
  notes: found.notes.push(note),
}))

export const refundOrder = withOrder((found, { order }) => {
  if (found.state === 'refunded') return cannot('order_refunded', `${order} was refunded before.`)
  found.state = 'refunded'
  return { order, refunded: found.amount.value }
})
