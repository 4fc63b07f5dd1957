import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isFailed } from '../../capability/outcome.ts'
import type { Source } from '../../capability/source.ts'
import { refusalMessages } from '../../sources/records/grants/token-refusal.ts'
import { instructions } from '../../sources/records/record-source.ts'
import { RemoteServer } from '../../sources/records/remote/remote-server.ts'
import { remoteSource } from '../../sources/records/remote/remote-source.ts'
import { defaultEgress, type Egress } from '../../upstream/egress/egress.ts'
import { CredentialError } from './credential-error.ts'

/** A records server on another machine. */
export interface RemoteRecords {
  /** Base URL of the server. */
  readonly server: string
  /** Token of a grant; an owner token is refused. */
  readonly token: string
}

export interface OpenedRemote {
  readonly source: Source
  readonly instructions: string
  readonly isExclusive: true
}

export interface OpenRemoteOptions {
  /** The token is written in the configuration. */
  readonly isLiteral?: boolean
  readonly egress?: Egress
  /** `false` to inspect a configuration without its token: then nothing is checked. */
  readonly isContacted?: boolean
}

/** A source over a remote records server. Its token is checked before anything is served. */
export async function openRemoteRecords(
  { server, token }: RemoteRecords,
  { isLiteral = false, egress = defaultEgress, isContacted = true }: OpenRemoteOptions = {},
): Promise<OpenedRemote> {
  const source = remoteSource({
    id: server,
    server: new RemoteServer({ server, token, egress }),
    diagnostics: isLiteral ? [toLiteralSecret(server)] : [],
    steadyNow: () => performance.now(),
  })
  const scopes = isContacted ? await source.scopes() : []
  if (isFailed(scopes)) refuseInvalidToken(server, scopes.failure)
  return { source, instructions, isExclusive: true }
}

/** An unreachable server may recover, so only a refused token is fatal. */
function refuseInvalidToken(
  server: string,
  { code, message, cause }: { code: string; message: string; cause?: string },
) {
  if (code === 'owner_token_refused')
    throw new CredentialError('owner', `The token of ${server}: ${refusalMessages.owner}`)
  if (code === 'remote_refused')
    throw new CredentialError('invalid', `The token of ${server}: ${message} (${cause ?? code})`)
}

const toLiteralSecret = (source: string): Diagnostic => ({
  code: 'literal_secret',
  severity: 'warning',
  message:
    'The token is written in the configuration. Move it to the environment: token: env://NAME.',
  source,
  pointer: '/token',
})
