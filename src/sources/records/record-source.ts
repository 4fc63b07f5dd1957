import type { Caller } from '../../capability/caller.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { type Failed, isFailed } from '../../capability/outcome.ts'
import type { Source } from '../../capability/source.ts'
import { cannotRead } from './failures.ts'
import { refusalMessages } from './grants/token-refusal.ts'
import { localReads } from './local-reads.ts'
import type { Reader } from './reading/reader.ts'
import { type OpenReads, toCapabilities } from './tools.ts'

export interface RecordSourceOptions {
  readonly id: string
  /** What a grant shows at this moment. */
  readonly open: (given: string) => Reader | Failed
  /** Whether an owner's token is in a text. */
  readonly holdsOwner: (text: string) => boolean
  readonly diagnostics: () => readonly Diagnostic[]
  readonly close: () => void | Promise<void>
}

/** A store of records, read under grants: exactly five capabilities, whoever calls. */
export function recordSource(options: RecordSourceOptions): Source {
  const { id, open, holdsOwner, diagnostics, close } = options
  const openFor: OpenReads = ({ caller, given: input }) => {
    if (holdsOwner(JSON.stringify(input) ?? ''))
      return cannotRead('owner_token_refused', 'An owner’s token is refused here.')
    const given = fromCaller(caller)
    const reader = given === undefined ? noGrant() : open(given)
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

const prefix = 'grant:'

/** Who holds a grant's token, as everything else here knows callers: no scope of its own. */
export const toCaller = (given: string): Caller => ({ subject: `${prefix}${given}`, scopes: none })

const none: ReadonlySet<string> = new Set()

export const fromCaller = ({ subject }: Caller): string | undefined =>
  subject.startsWith(prefix) ? subject.slice(prefix.length) : undefined

/** What a model should know before it reads. */
export const instructions =
  'Personal records, read under a grant. Call schema first: it lists the streams and connections. Pass connection_id wherever there are several connections. filter is an object: {"field": value} or {"field": {"gte": v}}. Page with next_cursor; the text of every answer holds all you need to go on. search finds words over all connections; fetch reads one hit.'
