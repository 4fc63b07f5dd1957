import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { fillLedger } from './fill-ledger.mjs'

/** @typedef {'floor' | 'mcpserver' | 'lowlevel' | 'drawbridge' | 'plain' | 'ruled'} Who */

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const contestant = (file) => here(`contestants/${file}.mjs`)
export const product = here('../dist/cli/main.js')
export const fixtures = here('.fixtures')

/** The arguments of `node` for each contestant and transport. */
export const commands = {
  floor: {
    http: (tools, port) => [contestant('floor-http'), tools, port],
    stdio: (tools) => [contestant('floor-stdio'), tools],
  },
  mcpserver: {
    http: (tools, port) => [contestant('sdk-http'), 'mcpserver', tools, port],
    stdio: (tools) => [contestant('sdk-stdio'), tools],
  },
  lowlevel: {
    http: (tools, port) => [contestant('sdk-http'), 'lowlevel', tools, port],
  },
  drawbridge: {
    http: async (tools, port) => [product, 'serve', await toFixture(tools), '--port', port],
    stdio: async (tools) => [product, 'serve', await toFixture(tools), '--stdio'],
  },
  /** Our own edge with a pipeline that promises nothing. */
  plain: {
    http: (tools, port) => [contestant('plain-http'), tools, port],
  },
  /** A tool under every kind of rule, over a ledger that already remembers so many runs. */
  ruled: {
    http: async (tools, port, { effect, remembered }) => [
      product,
      'serve',
      await toFixture(tools, effect, remembered),
      '--port',
      port,
    ],
  },
}

/** What an earlier run left, ledgers above all, must not weigh on this one. */
export const clearFixtures = () => {
  rmSync(fixtures, { recursive: true, force: true })
  mkdirSync(fixtures)
}

/** So large that nothing is ever refused: what is measured is the looking. */
const limited = {
  match: '*',
  permissions: ['bench:call'],
  rates: [{ calls: 1e9, seconds: 1 }],
}
const counted = { match: '*', budgets: [{ limit: 1e9, unit: 'calls', per: 'caller' }] }

let made = 0

/** A folder of its own for every instance: two servers must not share one ledger. */
const toFixture = async (tools, effect = 'analysis', remembered = 0) => {
  const folder = `${fixtures}/${++made}-${tools}-tools`
  mkdirSync(folder, { recursive: true })
  const rules = JSON.stringify(effect === 'write' ? [limited, counted] : [limited])
  const policy = remembered > 0 ? `policy:\n  rules: ${rules}\n` : ''
  writeFileSync(
    `${folder}/drawbridge.yaml`,
    `name: bench\nversion: 1.0.0\nsources:\n  - definitions: ./tools.mjs\n${policy}`,
  )
  if (remembered > 0) await fillLedger(`${folder}/drawbridge.db`, remembered)
  writeFileSync(
    `${folder}/tools.mjs`,
    `import { defineTool, z } from 'drawbridge-mcp'
import { toTools } from '../../contestants/tools.mjs'

export default toTools(${tools}).map(({ name, description }) =>
  defineTool({
    name,
    description,
    schema: z.object({
      text: z.string(),
      times: z.number().int().min(1).max(10).default(1),
    }),
    category: '${effect}',
    consequenceLevel: 'low',
    execute: async ({ text }) => ({ text }),
  }),
)
`,
  )
  return `${folder}/drawbridge.yaml`
}
