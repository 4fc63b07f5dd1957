import { SERVER_INFO_META_KEY, SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { Caller } from '../../capability/caller.ts'
import { isPlainObject } from '../../capability/json.ts'
import { permits } from '../../governance/permits.ts'
import { type Announcement, toNotification } from '../announcements.ts'
import type { HttpReply, HttpRequest } from '../http-port.ts'
import { codes, toErrorBody } from '../rpc-error.ts'
import type { Surface } from '../surface.ts'
import type { ModernRequest } from './modern-request.ts'

const keepAliveInterval = 15_000
const mostPerCaller = 1024
const mostUris = 1000

/** What a subscriber asked for, less what it cannot have. */
interface Wanted {
  readonly toolsListChanged?: true
  readonly promptsListChanged?: true
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
}

/** `subscriptions/listen`: a stream that says what changed, for as long as the client stays. */
export function serveListen(
  surface: Surface,
  { id, params }: ModernRequest,
  { caller }: HttpRequest,
  reply: HttpReply,
): void {
  const refuse = (code: number, message: string) =>
    reply.answer(200, toErrorBody({ code, message }, id))
  const wanted = readWanted(params.notifications)
  if (!wanted) return refuse(codes.invalidParams, 'notifications must be a subscription filter')
  const open = surface.listeners.get(caller.subject) ?? 0
  if (open >= mostPerCaller) return refuse(codes.refused, 'Too many open subscriptions')
  surface.listeners.set(caller.subject, open + 1)

  const mark = { [SUBSCRIPTION_ID_META_KEY]: id }
  const stream = reply.stream()
  const tell = (method: string, said: object) =>
    stream.send({ jsonrpc: '2.0', method, params: { ...said, _meta: mark } })
  tell('notifications/subscriptions/acknowledged', { notifications: wanted })

  const stop = surface.announcements.subscribe((announcement) => {
    if (!isWanted(announcement, wanted) || !concerns(surface, caller, announcement)) return
    const { method, params } = toNotification(announcement)
    tell(method, params)
  })
  const timer = setInterval(() => stream.keepAlive(), keepAliveInterval)
  const leave = surface.onClose(() => {
    const _meta = { ...mark, [SERVER_INFO_META_KEY]: surface.identity }
    stream.send({ jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } })
    stream.end()
  })
  stream.onClose(() => {
    clearInterval(timer)
    stop()
    leave()
    surface.listeners.set(caller.subject, (surface.listeners.get(caller.subject) ?? 1) - 1)
  })
}

function readWanted(filter: unknown): Wanted | undefined {
  if (!isPlainObject(filter)) return undefined
  const { resourceSubscriptions: uris = [] } = filter
  for (const key of flags)
    if (filter[key] !== undefined && typeof filter[key] !== 'boolean') return undefined
  if (!Array.isArray(uris) || uris.length > mostUris) return undefined
  if (!uris.every((uri): uri is string => typeof uri === 'string')) return undefined
  return {
    ...Object.fromEntries(flags.flatMap((key) => (filter[key] === true ? [[key, true]] : []))),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  }
}

const flags = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const

function isWanted(announcement: Announcement, wanted: Wanted): boolean {
  return announcement.kind === 'updated'
    ? (wanted.resourceSubscriptions?.includes(announcement.uri) ?? false)
    : wanted[`${announcement.kind}ListChanged`] === true
}

/** Nobody hears of what is not there for them: not even that it has changed. */
export function concerns(surface: Surface, caller: Caller, announcement: Announcement): boolean {
  const { kind, about } = announcement
  if (kind === 'updated' && mayRead(surface, caller, announcement.uri)) return true
  for (const capability of about.values()) if (permits(caller, capability)) return true
  return false
}

export function mayRead(surface: Surface, caller: Caller, uri: string): boolean {
  const found = surface.projection.findView(uri)
  return found !== undefined && permits(caller, found.entry.capability)
}
