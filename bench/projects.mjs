import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { checkouts, fixtures } from './paths.mjs'
import { runProcess } from './processes.mjs'

/** Removes files of earlier runs: a ledger with old entries would be slower. */
export const clearFixtures = () => {
  rmSync(fixtures, { recursive: true, force: true })
  for (const [name, folder] of checkouts) {
    const parent = `${fixtures}/${name}`
    mkdirSync(`${parent}/node_modules`, { recursive: true })
    // A package of its own, in which `drawbridge-mcp` is the checkout that serves it.
    writeFileSync(`${parent}/package.json`, '{"type":"module"}\n')
    symlinkSync(folder, `${parent}/node_modules/drawbridge-mcp`)
  }
}

/** Limits are too large to refuse a call: the benchmark measures the cost of checking them. */
const rateRule = {
  match: '*',
  permissions: ['bench:call'],
  rates: [{ calls: 1e9, seconds: 1 }],
}
const budgetRule = { match: '*', budgets: [{ limit: 1e9, unit: 'calls', per: 'caller' }] }

let projectCount = 0

/**
 * Creates a folder per server: two servers must not share one ledger.
 *
 * @param {{ tools: number, effect?: 'analysis' | 'write', hasRules?: boolean, ledgerRuns?: number,
 *   checkout?: import('./paths.mjs').Checkout }} options
 * @returns {Promise<string>} the path of its configuration
 */
export const createProject = async ({
  tools,
  effect = 'analysis',
  hasRules = false,
  ledgerRuns = 0,
  checkout = 'now',
}) => {
  const folder = `${fixtures}/${checkout}/${++projectCount}-${tools}-tools`
  mkdirSync(folder)
  const rules = JSON.stringify(effect === 'write' ? [rateRule, budgetRule] : [rateRule])
  const policy = hasRules ? `policy:\n  rules: ${rules}\n` : ''
  writeFileSync(
    `${folder}/drawbridge.yaml`,
    `name: bench\nversion: 1.0.0\nsources:\n  - definitions: ./tools.mjs\n${policy}`,
  )
  if (ledgerRuns > 0) await copyLedger(checkout, ledgerRuns, folder)
  writeFileSync(
    `${folder}/tools.mjs`,
    `import { defineTool, z } from 'drawbridge-mcp'
import { toTools } from '../../../contestants/tools.mjs'

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

const ledgers = new Map()

/** Every ledger is filled once, and closed: a million runs take minutes. */
const copyLedger = async (checkout, runs, folder) => {
  const template = `${fixtures}/${checkout}/ledger-of-${runs}`
  if (!ledgers.has(template)) ledgers.set(template, fill(checkout, runs, template))
  await ledgers.get(template)
  for (const file of readdirSync(template)) cpSync(`${template}/${file}`, `${folder}/${file}`)
}

/** By the checkout's own program, because the format of a ledger is its own affair. */
const fill = async (checkout, runs, folder) => {
  mkdirSync(folder)
  const program = pathToFileURL(`${checkouts.get(checkout)}/bench/fill-ledger.mjs`).href
  const script = `const { fillLedger } = await import('${program}')
await fillLedger('${folder}/drawbridge.db', ${runs})`
  await runProcess(['--input-type=module', '--eval', script])
}
