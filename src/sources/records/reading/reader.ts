import { hash } from 'node:crypto'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import { type GrantPackage, toGrantStatus } from '../grants/grant.ts'
import { type Scope, toScopes } from '../grants/scope.ts'
import { refusalMessages } from '../grants/token-refusal.ts'
import type { RecordSource } from '../model/stream.ts'
import type { RecordStore } from '../record-store.ts'
import { yieldToLoop } from './yield-to-loop.ts'

/** A store that can fall behind with writing down what was read. */
export interface DisclosingStore extends RecordStore {
  /** Without it nothing is given out. */
  readonly canDisclose: boolean
}

/** One who may read, and all that is there for them at this moment. */
export interface Reader {
  readonly store: DisclosingStore
  readonly package: GrantPackage
  readonly scopes: readonly Scope[]
  /** Cursors of a grant are bound to what it said when they were made. */
  readonly fingerprint: string
  /** Milliseconds since the epoch by which an answer must be there. */
  readonly deadline: number
  readonly now: () => number
}

export interface ReaderOptions {
  readonly store: DisclosingStore
  readonly now: () => number
  /** Milliseconds one read may take. */
  readonly patience: number
}

/** Looked up for every read: what was revoked a moment ago is revoked. */
export function openReader(id: string, { store, now, patience }: ReaderOptions): Reader | Failed {
  const { given, sources } = store.view(id)
  const live = toLive(given, store, now())
  if (isFailed(live)) return live
  return {
    store,
    package: live,
    ...toShown(live, sources),
    deadline: now() + patience,
    now,
  }
}

function toLive(
  given: GrantPackage | undefined,
  store: DisclosingStore,
  now: number,
): GrantPackage | Failed {
  if (!given) return cannotRead('grant_missing', refusalMessages.missing)
  switch (toGrantStatus(given, now)) {
    case 'revoked':
      return cannotRead('grant_revoked', refusalMessages.revoked)
    case 'expired':
      return cannotRead('grant_expired', refusalMessages.expired)
    case 'live':
      return store.canDisclose ? given : cannotDisclose()
  }
}

const cannotDisclose = (): Failed =>
  cannotRead(
    'timed_out',
    'What is read cannot be written down for its owner at the moment. Try again later.',
    { retryable: true },
  )

/** Lets everybody else have a turn, and says when there is no time left, or no grant any more. */
export async function yieldAndCheck(reader: Reader): Promise<Failed | undefined> {
  const { deadline, now } = reader
  if (now() > deadline)
    return cannotRead(
      'timed_out',
      'This read takes too long. Narrow it: a filter on the time, another connection_id, fewer groups.',
      { retryable: true },
    )
  await yieldToLoop()
  return findWithdrawn(reader)
}

/** Does something step by step; wherever it pauses, everybody else has a turn. */
export async function yieldRepeatedly<T>(
  reader: Reader,
  steps: Generator<undefined, T>,
): Promise<T | Failed> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    const stop = await yieldAndCheck(reader)
    if (stop) return stop
  }
}

/** What was revoked while others had their turn. */
function findWithdrawn({ package: given, store, now }: Reader): Failed | undefined {
  const current = toLive(store.findPackage(given.id), store, now())
  if (isFailed(current)) return current
  const live = new Set(listLive(current).map(({ id }) => id))
  return listLive(given).every(({ id }) => live.has(id))
    ? undefined
    : cannotRead('timed_out', 'The grant was narrowed meanwhile. Read again.', { retryable: true })
}

const listLive = ({ grants }: GrantPackage) =>
  grants.filter(({ revokedAt }) => revokedAt === undefined)

type Shown = Pick<Reader, 'scopes' | 'fingerprint'>

/** Worked out once for the same grants over the same catalogue: stores give the same objects then. */
const shown = new WeakMap<GrantPackage, { sources: readonly RecordSource[]; shown: Shown }>()

function toShown(given: GrantPackage, sources: readonly RecordSource[]): Shown {
  const known = shown.get(given)
  if (known?.sources === sources) return known.shown
  const live = listLive(given)
  const fresh: Shown = {
    scopes: toScopes(given, sources),
    fingerprint: hash('sha256', JSON.stringify([given.id, live]), 'base64url'),
  }
  shown.set(given, { sources, shown: fresh })
  return fresh
}
