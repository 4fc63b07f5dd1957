import { randomBytes, randomUUID } from 'node:crypto'
import { importSource } from '../sources.mjs'
import { serverInfo, toTools } from './tools.mjs'

const { localUser } = await importSource('capability/caller')
const { FairShares } = await importSource('capability/fair-shares')
const { Catalog } = await importSource('catalog/catalog')
const { compileChain } = await importSource('governance/chain')
const { checkInput } = await importSource('governance/steps/check-input')
const { checkOutput } = await importSource('governance/steps/check-output')
const { limitTime } = await importSource('governance/steps/limit-time')
const { BodyAdmission } = await importSource('http/body-admission')
const { createHandler } = await importSource('http/handler')
const { createGuard, loopbackHosts } = await importSource('http/host-guard')
const { NodeServer } = await importSource('http/node-server')
const { defineTool, definitionSource, z } = await importSource('library')
const { HttpEndpoint } = await importSource('mcp/http-endpoint')
const { SessionRegistry } = await importSource('mcp/legacy/session-registry')
const { subscriptionLimits } = await importSource('mcp/modern/subscriptions')
const { createRequestStates } = await importSource('mcp/request-state')
const { Surface } = await importSource('mcp/surface')

/**
 * Drawbridge's HTTP edge and projection with a minimal pipeline: input, time limit and output are
 * checked; permissions, limits, ledger and audit are left out. The difference is governance's cost.
 */
const [tools, port] = process.argv.slice(2).map(Number)

const source = definitionSource(
  toTools(tools).map(({ name, description }) =>
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
  ),
)
const catalog = await Catalog.open([{ source, mount: '/mcp' }], {
  naming: 'portable',
  refine: (capability) => capability,
})
const govern = compileChain([checkInput, limitTime(30_000), checkOutput(4 * 1024 * 1024)], false)
const surface = new Surface({
  mount: '/mcp',
  identity: serverInfo,
  catalog,
  govern,
  states: createRequestStates(randomBytes(32), Date.now),
  newId: randomUUID,
  requiresToken: false,
  subscriptions: new FairShares(subscriptionLimits),
  schemas: 'portable',
})
const admission = new BodyAdmission(() => performance.now())
const handler = createHandler({
  mounts: new Map([['/mcp', new HttpEndpoint(surface, new SessionRegistry(Date.now))]]),
  guard: createGuard({ hosts: loopbackHosts, origins: [] }),
  identify: () => localUser,
  body: { maxBytes: 4 * 1024 * 1024, maxValues: 100_000, admission },
  approvals: {},
  records: { tokenGates: new Map() },
  frames: () => undefined,
  health: () => ({}),
})
await NodeServer.listen({ host: '127.0.0.1', port, handler, admission, onError: console.error })
