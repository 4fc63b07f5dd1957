import type { Upstream, UpstreamOptions } from '../../../upstream/upstream.ts'
import type { ManifestCapability, ManifestInterface } from '../reading/manifest-shape.ts'
import type { Indexed, ValidManifest } from '../reading/read-manifest.ts'

/** Code that does what an INTERNAL capability says. */
export type ManifestHandler = (input: unknown, context: HandlerContext) => unknown

export interface HandlerContext {
  readonly signal: AbortSignal
  readonly caller: { readonly subject: string }
  readonly idempotencyKey: string | undefined
  readonly progress: (done: number, total?: number, message?: string) => void
}

/** How a call reaches the agent. */
export type CapabilityRoute =
  | {
      readonly kind: 'handler'
      readonly run: ManifestHandler
      readonly by?: Indexed<ManifestInterface>
    }
  | { readonly kind: 'upstream'; readonly by: Indexed<ManifestInterface> }

/** What can open a connection for a protocol; the source knows none of them itself. */
export type OpenUpstream = (options: UpstreamOptions) => Upstream

export type Protocols = Readonly<Record<'MCP' | 'HTTP', OpenUpstream>>

/** The first way that is offered and that leads somewhere, or why there is none. */
export function findRoute(
  { interfaces }: ValidManifest,
  { id, protocols }: ManifestCapability,
  handlers: ReadonlyMap<string, ManifestHandler>,
): CapabilityRoute | { readonly fault: string } {
  const run = handlers.get(id)
  if (run) {
    const by = interfaces.find(({ protocol }) => protocol === 'INTERNAL')
    return { kind: 'handler', run, ...(by && { by }) }
  }
  const reasons: string[] = []
  for (const protocol of ['MCP', 'HTTP'] as const) {
    if (!protocols.includes(protocol)) continue
    for (const by of interfaces.filter((one) => one.protocol === protocol)) {
      const obstacle = findObstacle(by)
      if (obstacle === undefined) return { kind: 'upstream', by }
      reasons.push(`${by.name} ${obstacle}`)
    }
  }
  if (protocols.includes('INTERNAL')) reasons.push('there is no handler for it')
  const why = reasons.length === 0 ? 'no MCP or HTTP interface leads to it' : reasons.join(', ')
  return { fault: `${id} cannot be called: ${why}. Give it an interface, or a handler.` }
}

function findObstacle({ endpoint = '', auth }: ManifestInterface): string | undefined {
  if (!/^https?:\/\//i.test(endpoint)) return 'has no http address'
  return auth === 'mTLS' ? 'wants a client certificate, which is not supported' : undefined
}
