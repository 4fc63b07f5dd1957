import { expect, test } from 'vitest'
import { createDrawbridge, defineTool, definitionSource, z } from '../../src/index.ts'
import type { DrawbridgeOptions } from '../../src/runtime/drawbridge-options.ts'
import { aConfig, aProject, aToolModule } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

test('check reports rules whose lists of approvers have no common name', async () => {
  const folder = await aProject({
    'tools/refund.ts': aToolModule({ name: 'refund_order', category: 'write' }),
    'drawbridge.yaml': aConfig(
      'policy: { rules: [{ match: refund_*, approvers: [ann] }, { match: "*", approvers: [ben] }] }\n',
    ),
  })

  const { code, stdout } = await drawbridge(['check', folder])

  expect(code).toBe(1)
  expect(stdout).toMatch(
    /^error +configuration#\/policy\/rules\/1\/approvers approvers_empty: .*refund_order.*Add a common name/m,
  )
})

const toTool = (name: string) =>
  defineTool({
    name,
    description: 'Pays.',
    category: 'write',
    schema: z.object({}),
    execute: () => ({}),
  })

async function diagnose(options: Pick<DrawbridgeOptions, 'policy' | 'http'>) {
  const sources = [definitionSource(['pay', 'refund'].map(toTool))]
  const bridge = createDrawbridge({ ...options, sources })
  await bridge.ready
  const { diagnostics } = bridge
  await bridge.close()
  return diagnostics
}

const aToken = (subject: string, scopes: string[]) => ({
  hash: `sha256:${subject.padEnd(64, '0').replaceAll(/[^\da-f]/g, '0')}`,
  subject,
  scopes,
})

const rulesFor = (...lists: string[][]) => ({
  rules: lists.map((approvers) => ({ match: '*', approvers })),
})

test('tools with the same empty intersection are one finding', async () => {
  expect(await diagnose({ policy: rulesFor(['ann', 'ben'], ['ben', 'cat'], ['cat']) })).toEqual([
    {
      code: 'approvers_empty',
      severity: 'error',
      source: 'configuration',
      pointer: '/policy/rules/2/approvers',
      message: expect.stringContaining('calls of pay, refund:'),
    },
  ])
})

test('a list of which nobody holds a token for deciding is a warning', async () => {
  const http = { tokens: [aToken('ann', ['orders:read']), aToken('ben', ['approvals:decide'])] }

  expect(await diagnose({ policy: rulesFor(['ann']), http })).toMatchObject([
    {
      code: 'approvers_without_token',
      severity: 'warning',
      pointer: '/policy/rules/0/approvers',
      message: expect.stringMatching(/no token of ann holds approvals:decide.*http\.tokens/),
    },
  ])
})

test.each<[string, Pick<DrawbridgeOptions, 'policy' | 'http'>]>([
  ['with a common name', { policy: rulesFor(['ann', 'ben'], ['ben']) }],
  ['beside a rule for others', { policy: { rules: [{ match: '*', approvers: 'others' }] } }],
  [
    'with a token for deciding',
    { policy: rulesFor(['ann', 'ben']), http: { tokens: [aToken('ben', ['approvals:*'])] } },
  ],
])('lists %s give no finding', async (_, options) => {
  expect(await diagnose(options)).toEqual([])
})
