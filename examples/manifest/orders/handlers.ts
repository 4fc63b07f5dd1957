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

const find = (number: string): Order => {
  const order = orders.get(number)
  if (!order) throw new Error(`There is no order ${number}.`)
  return order
}

export const lookUpOrder = ({ order }: { order: string }) => ({ order, ...find(order) })

export const addNote = ({ order, note }: { order: string; note: string }) => ({
  order,
  notes: find(order).notes.push(note),
})

export const refundOrder = ({ order }: { order: string }) => {
  const found = find(order)
  found.state = 'refunded'
  return { order, refunded: found.amount.value }
}
