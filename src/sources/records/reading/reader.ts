import { hash } from 'node:crypto'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import { toScopes } from '../grants/to-scopes.ts'
import { refusalMessages } from '../grants/token-refusal.ts'
import { type GrantPackage, toGrantStatus } from '../model/grant.ts'
import type { Scope } from '../model/scope.ts'
import type { RecordSource } from '../model/stream.ts'
import type { RecordStore } from '../record-store.ts'
import { yieldToLoop } from './yield-to-loop.ts'

/** A store whose disclosure log can fall behind or fail. */
export interface DisclosingStore extends RecordStore {
  /** While `false`, no read is answered. */
  readonly canDisclose: boolean
}

/** One read under one grant: the store, and everything the grant shows at this moment. */
export interface Reader {
  readonly store: DisclosingStore
  readonly package: GrantPackage
  readonly scopes: readonly Scope[]
  /** Digest of the live grants. Cursors are bound to it, so that they expire when the grant changes. */
  readonly fingerprint: string
  /** Milliseconds since the epoch by which the read must finish. */
  readonly deadline: number
  readonly now: () => number
}

export interface ReaderOptions {
  readonly store: DisclosingStore
  readonly now: () => number
  /** Milliseconds one read may take. */
  readonly timeoutMs?: number
}

const defaultTimeoutMs = 10_000

/** Looks the grant up for every read, so that a revocation takes effect at once. */
export function openReader(
  id: string,
  { store, now, timeoutMs = defaultTimeoutMs }: ReaderOptions,
): Reader | Failed {
  const { package: grantPackage, sources } = store.view(id)
  const livePackage = toLive(grantPackage, store, now())
  if (isFailed(livePackage)) return livePackage
  return {
    store,
    package: livePackage,
    ...toVisible(livePackage, sources, store.key),
    deadline: now() + timeoutMs,
    now,
  }
}

function toLive(
  grantPackage: GrantPackage | undefined,
  store: DisclosingStore,
  now: number,
): GrantPackage | Failed {
  if (!grantPackage) return cannotRead('grant_missing', refusalMessages.missing)
  switch (toGrantStatus(grantPackage, now)) {
    case 'revoked':
      return cannotRead('grant_revoked', refusalMessages.revoked)
    case 'expired':
      return cannotRead('grant_expired', refusalMessages.expired)
    case 'live':
      return store.canDisclose ? grantPackage : cannotDisclose()
  }
}

const cannotDisclose = (): Failed =>
  cannotRead(
    'timed_out',
    'The disclosure log cannot be written at the moment, so nothing can be read. Try again later.',
    { retryable: true },
  )

/** Yields to the event loop; fails when the read has timed out or its grant was revoked. */
export async function yieldAndCheck(reader: Reader): Promise<Failed | undefined> {
  const { deadline, now } = reader
  if (now() > deadline)
    return cannotRead(
      'timed_out',
      'This read takes too long. Narrow it: filter by time, choose one connection_id, or use fewer groups.',
      { retryable: true },
    )
  await yieldToLoop()
  return findRevoked(reader)
}

/** Runs a generator to its end, and calls `yieldAndCheck` at every `yield`. */
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

/** Fails when the grant, or part of its package, was revoked while the read was suspended. */
function findRevoked({ package: openedPackage, store, now }: Reader): Failed | undefined {
  const currentPackage = toLive(store.findPackage(openedPackage.id), store, now())
  if (isFailed(currentPackage)) return currentPackage
  const liveIds = new Set(listLive(currentPackage).map(({ id }) => id))
  return listLive(openedPackage).every(({ id }) => liveIds.has(id))
    ? undefined
    : cannotRead('timed_out', 'The grant was narrowed during this read. Read again.', {
        retryable: true,
      })
}

const listLive = ({ grants }: GrantPackage) =>
  grants.filter(({ revokedAt }) => revokedAt === undefined)

type Visible = Pick<Reader, 'scopes' | 'fingerprint'>

/** Cached by object identity: stores return the same objects while grants and sources are unchanged. */
const cache = new WeakMap<GrantPackage, { sources: readonly RecordSource[]; visible: Visible }>()

function toVisible(
  grantPackage: GrantPackage,
  sources: readonly RecordSource[],
  idKey: Uint8Array,
): Visible {
  const cached = cache.get(grantPackage)
  if (cached?.sources === sources) return cached.visible
  const liveGrants = listLive(grantPackage)
  const visible: Visible = {
    scopes: toScopes(grantPackage, sources, idKey),
    fingerprint: hash('sha256', JSON.stringify([grantPackage.id, liveGrants]), 'base64url'),
  }
  cache.set(grantPackage, { sources, visible })
  return visible
}
