import { failureSet } from 'drawbridge-mcp'

/** Handlers of the INTERNAL capabilities of agent.yaml, by id. The orders are kept in memory. */
interface Order {
  state: 'open' | 'shipped' | 'refunded'
  amount: { value: number; currency: string }
  notes: string[]
}

const orders = new Map<string, Order>([
  ['A-1001', { state: 'shipped', amount: { value: 25, currency: 'EUR' }, notes: [] }],
  ['A-1002', { state: 'open', amount: { value: 12.5, currency: 'EUR' }, notes: ['Call first.'] }],
])

const orderFailed = failureSet({ order_unknown: 'model', order_refunded: 'model' })

/** An expected failure is returned and reaches the model; a thrown error goes to the operator's log. */
const withOrder =
  <Input extends { order: string }>(run: (order: Order, input: Input) => object) =>
  (input: Input) => {
    const order = orders.get(input.order)
    return order
      ? run(order, input)
      : orderFailed('order_unknown', `Unknown order ${input.order}. Known orders: A-1001, A-1002.`)
  }

export const lookUpOrder = withOrder((record, { order }) => ({ order, ...record }))

export const addOrderNote = withOrder(
  (record, { order, note }: { order: string; note: string }) => ({
    order,
    notes: record.notes.push(note),
  }),
)

export const refundOrder = withOrder((record, { order }) => {
  if (record.state === 'refunded')
    return orderFailed('order_refunded', `${order} is already refunded.`)
  record.state = 'refunded'
  return { order, refunded: record.amount.value }
})
