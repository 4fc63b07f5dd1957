import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isFailed } from '../../capability/outcome.ts'
import { CredentialError } from '../../capability/setup-error.ts'
import type { Source } from '../../capability/source.ts'
import { refusalMessages } from '../../sources/records/grants/token-refusal.ts'
import { instructions } from '../../sources/records/record-source.ts'
import { RemoteServer } from '../../sources/records/remote/remote-server.ts'
import { remoteSource } from '../../sources/records/remote/remote-source.ts'

export interface RemoteRecords {
  readonly server: string
  /** Of a grant; an owner's is refused. */
  readonly token: string
}

export interface OpenedRemote {
  readonly source: Source
  readonly instructions: string
  readonly standsAlone: true
}

/** Milliseconds one answer may take. */
const patience = 10_000

/** Records of another server. Whether its token is one to read with is asked before anything starts. */
export async function openRemoteRecords(
  { server, token }: RemoteRecords,
  isLiteral: boolean,
): Promise<OpenedRemote> {
  const source = remoteSource({
    id: server,
    server: new RemoteServer({ server, token, patience }),
    diagnostics: isLiteral ? [toLiteral(server)] : [],
    steadyNow: () => performance.now(),
  })
  const granted = await source.scopes()
  if (isFailed(granted)) refuseBad(server, granted.failure)
  return { source, instructions, standsAlone: true }
}

/** A server that does not answer may do so later; a token that is wrong stays wrong. */
function refuseBad(
  server: string,
  { code, message, cause }: { code: string; message: string; cause?: string },
) {
  if (code === 'owner_token_refused')
    throw new CredentialError(77, `The token of ${server}: ${refusalMessages.owner}`)
  if (code === 'remote_refused')
    throw new CredentialError(78, `The token of ${server}: ${message} (${cause ?? code})`)
}

const toLiteral = (source: string): Diagnostic => ({
  code: 'literal_secret',
  severity: 'warning',
  message: 'The token stands in the configuration. Put it into the environment: token: env://NAME.',
  source,
  pointer: '/token',
})
