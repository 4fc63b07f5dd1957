import type { Caller } from '../../capability/caller.ts'
import type { ShareLimits } from '../../capability/fair-shares.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { type Announcement, toNotification } from '../announcements.ts'
import type { Params, RequestId } from '../message.ts'
import { codes, type RpcErrorContent } from '../rpc-error.ts'
import type { Surface } from '../surface.ts'
import { protocolMeta } from '../wire-names.ts'

/** Subscriptions on all mounts. */
export const subscriptionLimits: ShareLimits = { perCaller: 1024, total: 8192 }
const maxUris = 1000
/** Characters of the URIs of one subscription or 2025 session, which are kept as long as it is open. */
export const maxUriCharacters = 64 * 1024

/** A subscription of `subscriptions/listen` that is not open yet. */
export interface Subscription {
  readonly id: RequestId
  readonly caller: Caller
  readonly filter: SubscriptionFilter
}

/** A client's subscription filter, reduced to the notifications that this server sends. */
interface SubscriptionFilter {
  readonly toolsListChanged?: true
  readonly promptsListChanged?: true
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
}

/** Where the notifications of a subscription go. */
export interface SubscriptionChannel {
  send(message: object): void
  /** The server ends the subscription, after its last message. */
  end(): void
}

/** Checks a request and takes a place for it; `openSubscription` must follow. */
export function readSubscription(
  surface: Surface,
  id: RequestId,
  { notifications }: Params,
  caller: Caller,
): Subscription | RpcErrorContent {
  const filter = readFilter(notifications)
  if (!filter)
    return { code: codes.invalidParams, message: 'notifications must be a subscription filter' }
  if (!surface.subscriptions.take(caller.subject))
    return { code: codes.refused, message: 'Too many open subscriptions' }
  return { id, caller, filter }
}

/** Acknowledges the subscription and sends its notifications. Returns a function that closes it. */
export function openSubscription(
  surface: Surface,
  { id, caller, filter }: Subscription,
  channel: SubscriptionChannel,
): () => void {
  const uris = new Set(filter.resourceSubscriptions)
  const subscriptionMeta = { [protocolMeta.subscriptionId]: id }
  const notify = (method: string, params: object) =>
    channel.send({ jsonrpc: '2.0', method, params: { ...params, _meta: subscriptionMeta } })
  notify('notifications/subscriptions/acknowledged', { notifications: filter })

  const unsubscribe = surface.announcements.subscribe((announcement) => {
    if (!matchesFilter(announcement, filter, uris)) return
    if (!surface.concerns(caller, announcement)) return
    const { method, params } = toNotification(announcement)
    notify(method, params)
  })
  const forget = surface.onClose(() => {
    const _meta = { ...subscriptionMeta, [protocolMeta.serverInfo]: surface.identity }
    channel.send({ jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } })
    channel.end()
  })
  let isOpen = true
  return () => {
    if (!isOpen) return
    isOpen = false
    unsubscribe()
    forget()
    surface.subscriptions.release(caller.subject)
  }
}

function readFilter(filter: unknown): SubscriptionFilter | undefined {
  if (!isPlainObject(filter)) return undefined
  const { resourceSubscriptions: uris = [] } = filter
  for (const key of flags)
    if (filter[key] !== undefined && typeof filter[key] !== 'boolean') return undefined
  if (!Array.isArray(uris) || uris.length > maxUris) return undefined
  if (!uris.every((uri): uri is string => typeof uri === 'string')) return undefined
  if (uris.reduce((sum, uri) => sum + uri.length, 0) > maxUriCharacters) return undefined
  return dropUndefined({
    ...Object.fromEntries(flags.map((key) => [key, filter[key] || undefined])),
    resourceSubscriptions: uris.length > 0 ? uris : undefined,
  })
}

const flags = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const

function matchesFilter(
  announcement: Announcement,
  filter: SubscriptionFilter,
  uris: ReadonlySet<string>,
): boolean {
  return announcement.kind === 'updated'
    ? uris.has(announcement.uri)
    : filter[`${announcement.kind}ListChanged`] === true
}
