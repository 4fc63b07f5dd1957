import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { fillLedger } from './fill-ledger.mjs'

/** @typedef {'floor' | 'mcpserver' | 'lowlevel' | 'drawbridge' | 'ungoverned' | 'governed'} ContestantName */

const toPath = (path) => fileURLToPath(new URL(path, import.meta.url))
const contestantFile = (file) => toPath(`contestants/${file}.mjs`)
export const product = toPath('../dist/cli/main.js')
export const fixtures = toPath('.fixtures')

/** The arguments of `node` for each contestant and transport. */
export const commands = {
  floor: {
    http: (tools, port) => [contestantFile('floor-http'), tools, port],
    stdio: (tools) => [contestantFile('floor-stdio'), tools],
  },
  mcpserver: {
    http: (tools, port) => [contestantFile('sdk-http'), 'mcpserver', tools, port],
    stdio: (tools) => [contestantFile('sdk-stdio'), tools],
  },
  lowlevel: {
    http: (tools, port) => [contestantFile('sdk-http'), 'lowlevel', tools, port],
  },
  drawbridge: {
    http: async (tools, port) => [product, 'serve', await toFixture(tools), '--port', port],
    stdio: async (tools) => [product, 'serve', await toFixture(tools), '--stdio'],
  },
  /** Drawbridge's HTTP edge with a minimal pipeline. */
  ungoverned: {
    http: (tools, port) => [contestantFile('ungoverned-http'), tools, port],
  },
  /** A tool with every kind of rule, over a ledger that already holds `ledgerRuns` runs. */
  governed: {
    http: async (tools, port, { effect, ledgerRuns }) => [
      product,
      'serve',
      await toFixture(tools, effect, ledgerRuns),
      '--port',
      port,
    ],
  },
}

/** Removes files of earlier runs: a ledger with old entries would be slower. */
export const clearFixtures = () => {
  rmSync(fixtures, { recursive: true, force: true })
  mkdirSync(fixtures)
}

/** Limits are too large to refuse a call: the benchmark measures the cost of checking them. */
const rateRule = {
  match: '*',
  permissions: ['bench:call'],
  rates: [{ calls: 1e9, seconds: 1 }],
}
const budgetRule = { match: '*', budgets: [{ limit: 1e9, unit: 'calls', per: 'caller' }] }

let fixtureCount = 0

/** Creates a folder per instance: two servers must not share one ledger. */
const toFixture = async (tools, effect = 'analysis', ledgerRuns = 0) => {
  const folder = `${fixtures}/${++fixtureCount}-${tools}-tools`
  mkdirSync(folder, { recursive: true })
  const rules = JSON.stringify(effect === 'write' ? [rateRule, budgetRule] : [rateRule])
  const policy = ledgerRuns > 0 ? `policy:\n  rules: ${rules}\n` : ''
  writeFileSync(
    `${folder}/drawbridge.yaml`,
    `name: bench\nversion: 1.0.0\nsources:\n  - definitions: ./tools.mjs\n${policy}`,
  )
  if (ledgerRuns > 0) await fillLedger(`${folder}/drawbridge.db`, ledgerRuns)
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
