import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** @typedef {'floor' | 'mcpserver' | 'lowlevel' | 'drawbridge'} Who */

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
    http: (tools, port) => [product, 'serve', toFixture(tools), '--port', port],
    stdio: (tools) => [product, 'serve', toFixture(tools), '--stdio'],
  },
}

/** What an earlier run left, ledgers above all, must not weigh on this one. */
export const clearFixtures = () => {
  rmSync(fixtures, { recursive: true, force: true })
  mkdirSync(fixtures)
}

let made = 0

/** A folder of its own for every instance: two servers must not share one ledger. */
const toFixture = (tools) => {
  const folder = `${fixtures}/${++made}-${tools}-tools`
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    `${folder}/drawbridge.yaml`,
    'name: bench\nversion: 1.0.0\nsources:\n  - definitions: ./tools.mjs\n',
  )
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
    category: 'analysis',
    consequenceLevel: 'low',
    execute: async ({ text }) => ({ text }),
  }),
)
`,
  )
  return `${folder}/drawbridge.yaml`
}
