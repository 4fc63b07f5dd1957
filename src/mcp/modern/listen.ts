import { SERVER_INFO_META_KEY, SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { Caller } from '../../capability/caller.ts'
import type { ShareLimits } from '../../capability/fair-shares.ts'
import { permits } from '../../governance/permits.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { type Announcement, toNotification } from '../announcements.ts'
import type { HttpReply, HttpRequest } from '../http-port.ts'
import { codes, toErrorBody } from '../rpc-error.ts'
import type { Surface } from '../surface.ts'
import type { ModernRequest } from './modern-request.ts'

const keepAliveIntervalMs = 15_000
/** Subscription streams on all mounts. */
export const streamLimits: ShareLimits = { perCaller: 1024, total: 8192 }
const maxUris = 1000
/** Characters of the URIs of one subscription, which are kept as long as it is open. */
const maxUriCharacters = 64 * 1024

/** A client's subscription filter, reduced to the notifications that this server sends. */
interface SubscriptionFilter {
  readonly toolsListChanged?: true
  readonly promptsListChanged?: true
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
}

/** `subscriptions/listen`: a stream of change notifications until the client disconnects. */
export function serveListen(
  surface: Surface,
  { id, params }: ModernRequest,
  { caller }: HttpRequest,
  reply: HttpReply,
): void {
  const refuse = (code: number, message: string) =>
    reply.answer(200, toErrorBody({ code, message }, id))
  const filter = readFilter(params.notifications)
  if (!filter) return refuse(codes.invalidParams, 'notifications must be a subscription filter')
  const { subject } = caller
  if (!surface.streams.take(subject)) return refuse(codes.refused, 'Too many open subscriptions')
  const uris = new Set(filter.resourceSubscriptions)

  const subscriptionMeta = { [SUBSCRIPTION_ID_META_KEY]: id }
  const stream = reply.stream()
  const notify = (method: string, params: object) =>
    stream.send({ jsonrpc: '2.0', method, params: { ...params, _meta: subscriptionMeta } })
  notify('notifications/subscriptions/acknowledged', { notifications: filter })

  const unsubscribe = surface.announcements.subscribe((announcement) => {
    if (!matchesFilter(announcement, filter, uris) || !concerns(surface, caller, announcement))
      return
    const { method, params } = toNotification(announcement)
    notify(method, params)
  })
  const timer = setInterval(() => stream.keepAlive(), keepAliveIntervalMs)
  const forgetStream = surface.onClose(() => {
    const _meta = { ...subscriptionMeta, [SERVER_INFO_META_KEY]: surface.identity }
    stream.send({ jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } })
    stream.end()
  })
  stream.onClose(() => {
    clearInterval(timer)
    unsubscribe()
    forgetStream()
    surface.streams.release(subject)
  })
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

/** Callers are not notified of what they may not use: even that it changed would leak information. */
export function concerns(surface: Surface, caller: Caller, announcement: Announcement): boolean {
  const { kind, capabilities } = announcement
  if (kind === 'updated' && mayRead(surface, caller, announcement.uri)) return true
  for (const capability of capabilities.values()) if (permits(caller, capability)) return true
  return false
}

export function mayRead(surface: Surface, caller: Caller, uri: string): boolean {
  const match = surface.projection.findView(uri)
  return match !== undefined && permits(caller, match.entry.capability)
}
