import type { Call } from '../../../capability/call.ts'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { reads } from '../../../capability/effects.ts'
import type { JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import type { Source } from '../../../capability/source.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../grants/scope.ts'
import { toCapabilities } from '../tools.ts'
import { readScopes, readTokenKind } from './read-scopes.ts'
import { remoteReads } from './remote-reads.ts'
import type { RemoteServer } from './remote-server.ts'

export interface RemoteSourceOptions {
  readonly id: string
  readonly server: RemoteServer
  readonly diagnostics: readonly Diagnostic[]
  /** Milliseconds; never goes back. */
  readonly steadyNow: () => number
}

export interface RemoteSource extends Source {
  /** What its server grants at this moment; also says whether the token is one to read with. */
  scopes(): Promise<readonly Scope[] | Failed>
}

/** How long what a server grants is believed to be granted; each read is judged by it anew. */
const lifetime = 30_000

/** Records that lie elsewhere, behind the same five capabilities. */
export function remoteSource(options: RemoteSourceOptions): RemoteSource {
  const { id, server, diagnostics, steadyNow } = options
  let known:
    | { readonly until: number; readonly scopes: Promise<readonly Scope[] | Failed> }
    | undefined
  const scopes = (): Promise<readonly Scope[] | Failed> => {
    if (known && steadyNow() < known.until) return known.scopes
    const loading = loadScopes(server)
    known = { until: steadyNow() + lifetime, scopes: loading }
    void loading.then((loaded) => {
      if (isFailed(loaded) && known?.scopes === loading) known = undefined
    })
    return loading
  }
  const open = async ({ cancellation }: Call) => {
    const granted = await scopes()
    return isFailed(granted) ? granted : remoteReads(server, granted, cancellation.signal)
  }
  const capabilities = toCapabilities(open, id, { ...reads, reachesOut: true })
  return { id, scopes, read: async () => ({ capabilities, diagnostics }) }
}

async function loadScopes(server: RemoteServer): Promise<readonly Scope[] | Failed> {
  const document = await loadSchema(server)
  if (isFailed(document)) return document
  const kind = readTokenKind(document)
  if (kind === 'owner')
    return cannotRead('owner_token_refused', 'An owner’s token is refused here.')
  if (kind !== 'client' && kind !== 'mcp_package')
    return cannotRead('remote_refused', 'The server of these records refuses its token.', {
      cause: `its token is ${kind ?? 'of a kind it does not say'}, not of a grant`,
    })
  return readScopes(document)
}

/** Whole where that can be held, and in its short form elsewhere. */
async function loadSchema(server: RemoteServer): Promise<JsonObject | Failed> {
  const whole = await server.get(['schema'], [])
  return isFailed(whole) && whole.failure.code === 'remote_unavailable'
    ? server.get(['schema'], [['view', 'compact']])
    : whole
}
