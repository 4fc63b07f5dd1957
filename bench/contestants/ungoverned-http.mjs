import { randomBytes, randomUUID } from 'node:crypto'
import { localUser } from '../../dist/capability/caller.js'
import { FairShares } from '../../dist/capability/fair-shares.js'
import { Catalog } from '../../dist/catalog/catalog.js'
import { compileChain } from '../../dist/governance/chain.js'
import { checkInput } from '../../dist/governance/steps/check-input.js'
import { checkOutput } from '../../dist/governance/steps/check-output.js'
import { limitTime } from '../../dist/governance/steps/limit-time.js'
import { BodyAdmission } from '../../dist/http/body-admission.js'
import { createHandler } from '../../dist/http/handler.js'
import { createGuard, loopbackHosts } from '../../dist/http/host-guard.js'
import { NodeServer } from '../../dist/http/node-server.js'
import { defineTool, definitionSource, z } from '../../dist/index.js'
import { HttpEndpoint } from '../../dist/mcp/http-endpoint.js'
import { sessionLimits } from '../../dist/mcp/legacy/sessions.js'
import { streamLimits } from '../../dist/mcp/modern/listen.js'
import { createRequestStates } from '../../dist/mcp/request-state.js'
import { Surface } from '../../dist/mcp/surface.js'
import { serverInfo, toTools } from './tools.mjs'

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
  forbids: () => false,
  states: createRequestStates(randomBytes(32), Date.now),
  newId: randomUUID,
  requiresToken: false,
  streams: new FairShares(streamLimits),
})
const admission = new BodyAdmission(() => performance.now())
const handler = createHandler({
  mounts: new Map([['/mcp', new HttpEndpoint(surface, Date.now, new FairShares(sessionLimits))]]),
  guard: createGuard({ hosts: loopbackHosts, origins: [] }),
  identify: () => localUser,
  body: { maxBytes: 4 * 1024 * 1024, maxValues: 100_000, admission },
  approvals: {},
  records: { tokenGates: new Map() },
  frames: () => undefined,
  health: () => ({}),
})
await NodeServer.listen({ host: '127.0.0.1', port, handler, admission, onError: console.error })
