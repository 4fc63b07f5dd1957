import type { Call } from '../../../capability/call.ts'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { readOnly } from '../../../capability/effects.ts'
import type { JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import type { Egress } from '../../../upstream/egress/egress.ts'
import type { UpstreamSource } from '../../../upstream/egress/upstream-source.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../model/scope.ts'
import { toCapabilities } from '../tools.ts'
import { readScopes, readTokenKind } from './read-scopes.ts'
import { remoteReads } from './remote-reads.ts'
import type { RemoteServer } from './remote-server.ts'

export interface RemoteSourceOptions {
  readonly id: string
  readonly server: RemoteServer
  readonly diagnostics: readonly Diagnostic[]
  /** Monotonic clock in milliseconds. */
  readonly steadyNow: () => number
}

export interface RemoteSource extends UpstreamSource {
  /** The scopes the server grants now. Fails when the token is not a grant token. */
  scopes(): Promise<readonly Scope[] | Failed>
}

/** How long the server's schema is cached. */
const schemaLifetimeMs = 30_000

/** Records on a remote server, behind the same five capabilities. */
export function remoteSource(options: RemoteSourceOptions): RemoteSource {
  const { id, server, diagnostics, steadyNow } = options
  let cached:
    | { readonly until: number; readonly scopes: Promise<readonly Scope[] | Failed> }
    | undefined
  const scopes = (): Promise<readonly Scope[] | Failed> => {
    if (cached && steadyNow() < cached.until) return cached.scopes
    const loading = loadScopes(server)
    cached = { until: steadyNow() + schemaLifetimeMs, scopes: loading }
    void loading.then((result) => {
      if (isFailed(result) && cached?.scopes === loading) cached = undefined
    })
    return loading
  }
  const open = async ({ cancellation }: Call) => {
    const grantedScopes = await scopes()
    return isFailed(grantedScopes)
      ? grantedScopes
      : remoteReads(server, grantedScopes, cancellation.signal)
  }
  const capabilities = toCapabilities(open, id, { ...readOnly, reachesOut: true })
  let { egress } = server
  return {
    id,
    scopes,
    connectUpstreams: (host) => {
      egress = host.egress
      server.egress = egress
      host.onSecret(server.token)
    },
    destinations: () => [
      {
        url: server.address,
        secret: { name: 'the token of the source', header: 'Authorization' },
      },
    ],
    read: async () => ({
      capabilities,
      diagnostics: [...diagnostics, ...toEgressDiagnostics(egress, server.address, id)],
    }),
  }
}

function toEgressDiagnostics(egress: Egress, url: string, source: string): readonly Diagnostic[] {
  const { verdict, why } = egress.preview(url)
  const message = `The records server cannot be reached: ${why}.`
  return verdict === 'refused'
    ? [{ code: 'egress_refused', severity: 'error', message, source, pointer: '/server' }]
    : []
}

async function loadScopes(server: RemoteServer): Promise<readonly Scope[] | Failed> {
  const document = await loadSchema(server)
  if (isFailed(document)) return document
  const kind = readTokenKind(document)
  if (kind === 'owner') return cannotRead('owner_token_refused', 'Owner tokens are refused here.')
  if (kind !== 'client' && kind !== 'mcp_package')
    return cannotRead('remote_refused', 'The records server refused its token.', {
      cause: `its token kind is ${kind ?? 'not stated'}, not a grant token`,
    })
  return readScopes(document)
}

/** The full schema, or the compact one when the full one cannot be loaded (for example, too large). */
async function loadSchema(server: RemoteServer): Promise<JsonObject | Failed> {
  const full = await server.get(['schema'], [])
  return isFailed(full) && full.failure.code === 'remote_unavailable'
    ? server.get(['schema'], [['view', 'compact']])
    : full
}
