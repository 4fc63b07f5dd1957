import { expect, test } from 'vitest'
import { createDrawbridge, defineTool, definitionSource, z } from '../../src/index.ts'

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  category: 'write',
  schema: z.object({ amount: z.number() }),
  execute: () => 'paid',
})

test('a caller with many pending approvals does not hide those of others in the list', async () => {
  const bridge = createDrawbridge({
    sources: [definitionSource([pay])],
    policy: { rules: [{ match: 'pay', approval: true }] },
  })
  const request = (subject: string, amount: number) =>
    bridge.call('pay', { amount }, { caller: { subject, scopes: 'all' } })
  await request('ann', 1)
  await Promise.all(Array.from({ length: 200 }, (_, amount) => request('eve', amount)))
  await request('bob', 1)

  const callers = bridge.approvals.list(false).map(({ caller }) => caller)

  expect(callers).toHaveLength(100)
  expect(callers.slice(0, 3).toSorted()).toEqual(['ann', 'bob', 'eve'])
  await bridge.close(0)
})
