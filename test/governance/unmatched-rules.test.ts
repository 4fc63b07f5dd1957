import { expect, test } from 'vitest'
import { createDrawbridge, type Source } from '../../src/index.ts'
import { aConfig, aProject, aToolModule } from '../support/a-project.ts'
import { aCapability } from '../support/builders.ts'
import { drawbridge } from '../support/run-cli.ts'

test('check warns of a rule that matches nothing, and names the nearest tool', async () => {
  const folder = await aProject({
    'tools/refund.ts': aToolModule({ name: 'refund_order', category: 'write' }),
    'drawbridge.yaml': aConfig('policy: { rules: [{ match: refund_ordr, approval: true }] }\n'),
  })

  const { code, stdout } = await drawbridge(['check', folder])

  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^warning configuration#\/policy\/rules\/0\/match\/0 rule_unmatched: .*Did you mean "refund_order"\?/m,
  )
})

const source: Source = {
  id: 'shop',
  read: () => ({
    capabilities: ['orders.read', 'find_order'].map((name) => aCapability({ name })),
  }),
}

test.each([
  { match: 'orders.read', hint: 'Did you mean "shop_orders_read"?' },
  { match: 'shop_find_odrer', hint: 'Did you mean "shop_find_order"?' },
  { match: 'shpo_*', hint: 'Did you mean "shop_*"?' },
  { match: 'something_else', hint: 'no served name matches "something_else". "drawbridge list"' },
  { match: 'shop_find_order', writes: true, hint: 'shop_find_order only reads' },
])('a rule for $match gets the warning: $hint', async ({ hint, ...rule }) => {
  const bridge = createDrawbridge({
    sources: [{ source, mount: '/mcp', prefix: 'shop' }],
    policy: { rules: [rule] },
  })
  await bridge.ready

  expect(bridge.diagnostics).toMatchObject([
    { code: 'rule_unmatched', severity: 'warning', message: expect.stringContaining(hint) },
    { code: 'name_rewritten' },
  ])
})

test('a rule for future tools, and one that matches a view or prompt, give no warning', async () => {
  const view = { ...aCapability({ name: 'orders' }), uri: 'orders://all' }
  const prompt = { ...aCapability({ name: 'summarize' }), parameters: [] }
  const bridge = createDrawbridge({
    sources: [{ id: 'a', read: () => ({ capabilities: [], views: [view], prompts: [prompt] }) }],
    policy: {
      rules: [
        { match: '*', writes: true, approval: true },
        { match: ['orders', 'summ*'], permissions: ['orders:read'] },
        { match: 'order*', writes: true, approval: true },
      ],
    },
  })
  await bridge.ready

  expect(bridge.diagnostics).toEqual([])
})
