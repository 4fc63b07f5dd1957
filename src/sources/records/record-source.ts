import type { Caller } from '../../capability/caller.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { type Failed, isFailed } from '../../capability/outcome.ts'
import type { Source } from '../../capability/source.ts'
import { cannotRead } from './failures.ts'
import { refusalMessages } from './grants/token-refusal.ts'
import { localReads } from './local-reads.ts'
import type { Reader } from './reading/reader.ts'
import { type OpenReads, toCapabilities } from './tools.ts'

export interface LocalRecordSourceOptions {
  readonly id: string
  /** Opens a reader for one grant, with the grant's state at this moment. */
  readonly open: (grantId: string) => Reader | Failed
  /** Detects an owner token anywhere in a text. */
  readonly containsOwnerToken: (text: string) => boolean
  readonly diagnostics: () => readonly Diagnostic[]
  readonly close: () => void | Promise<void>
}

/** A store of records, read under grants: the same five capabilities for every caller. */
export function localRecordSource(options: LocalRecordSourceOptions): Source {
  const { id, open, containsOwnerToken, diagnostics, close } = options
  const openFor: OpenReads = ({ caller: { grantId }, rawInput: input }) => {
    if (containsOwnerToken(JSON.stringify(input) ?? ''))
      return cannotRead('owner_token_refused', 'Owner tokens are refused here.')
    const reader = grantId === undefined ? noGrant() : open(grantId)
    return isFailed(reader) ? reader : localReads(reader)
  }
  const capabilities = toCapabilities(openFor, id)
  return {
    id,
    read: async () => ({ capabilities, diagnostics: diagnostics() }),
    close: async () => close(),
  }
}

export const noGrant = (): Failed => cannotRead('grant_missing', refusalMessages.missing)

/** A caller with a grant's token. */
export interface GrantCaller extends Caller {
  readonly grantId: string
}

/** The caller for a grant's token. It has no scopes: the grant alone decides what can be read. */
export const toGrantCaller = (grantId: string): GrantCaller => ({
  subject: `grant:${grantId}`,
  scopes: noScopes,
  grantId,
})

const noScopes: ReadonlySet<string> = new Set()

/** Server instructions for the model. */
export const instructions =
  'Personal records, read under a grant. Call schema first: it lists the streams and connections. Pass connection_id when there are several connections. filter is an object: {"field": value} or {"field": {"gte": v}}. Page with next_cursor; the text of every answer contains everything you need to continue. search finds words in all connections; fetch reads one hit.'
