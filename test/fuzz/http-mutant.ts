import { legacyRevision, toLegacyHeaders } from '../support/legacy-request.ts'
import { toModernHeaders } from '../support/modern-request.ts'
import { type RawRequest, toBytes } from '../support/raw-http.ts'
import { mutate, toBatch } from './mutate.ts'
import { createRandom, type Random } from './random.ts'

export type Era = 'modern' | 'legacy'

/** One request of a fuzz run, determined by seed and index. */
export interface HttpMutant {
  readonly index: number
  readonly era: Era
  readonly request: RawRequest
  /** Needs its own connection: the server may close it or keep the response open. */
  readonly alone: boolean
}

export interface MutantOptions {
  readonly seed: number
  readonly index: number
  readonly era: Era
  readonly messages: readonly object[]
  /** The session of the connection that sends it. */
  readonly session?: string
}

export function toHttpMutant(options: MutantOptions): HttpMutant {
  const { seed, index, era, messages, session } = options
  const random = createRandom(seed + Math.imul(index, 0x9e3779b1))
  const body = random.chance(0.02)
    ? toBatch(messages, random)
    : mutate(random.pick(messages), random)
  const parsed = tryParse(body)
  const matchingHeaders = era === 'modern' ? toModernHeaders(parsed) : toLegacyHeaders(session)
  const headMutation = random.chance(0.06)
    ? random.pick(headMutations)({ headers: matchingHeaders, body }, random)
    : {}
  const request: RawRequest = { headers: matchingHeaders, body, ...headMutation }
  const alone =
    headMutation.headers !== undefined ||
    headMutation.method !== undefined ||
    isListen(parsed) ||
    toBytes({ ...request, body: '' }).length > 8192
  return { index, era, request, alone }
}

/** A stream that stays open and blocks its connection. */
export const isListen = (body: unknown): boolean =>
  typeof body === 'object' &&
  body !== null &&
  'method' in body &&
  body.method === 'subscriptions/listen'

type HeadMutation = (request: RawRequest, random: Random) => Partial<RawRequest>

/** Mutations of the request head. */
const headMutations: readonly HeadMutation[] = [
  ({ headers }, random) => ({ headers: withoutHeader(headers, random.pick(Object.keys(headers))) }),
  ({ headers }, random) => {
    const name = random.pick([...Object.keys(headers), 'mcp-name', 'last-event-id', 'origin'])
    return { headers: { ...headers, [name]: random.pick(oddHeaders) } }
  },
  ({ headers }, random) => ({
    headers: { ...headers, 'mcp-protocol-version': random.pick(versions) },
  }),
  ({ headers }) => ({
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    ),
  }),
  ({ headers }, random) => ({
    headers: { ...headers, 'mcp-session-id': random.pick(['', 'nobody', '__proto__', 'ü']) },
  }),
  ({ headers }, random) => ({ headers: { ...headers, accept: random.pick(accepts) } }),
  ({ headers }, random) => ({ headers: { ...headers, 'content-type': random.pick(types) } }),
  (_, random) => ({ method: random.pick(['PUT', 'PATCH', 'OPTIONS', 'HEAD', 'TRACE', 'GET']) }),
  (_, random) => ({
    path: random.pick(['/mcp?x=1', '/mcp/', '/', '/health', '/%2e%2e/mcp', '//mcp']),
  }),
]

const oddHeaders = [
  '',
  ' ',
  'x',
  '\xff\xfe',
  '=?base64??=',
  '=?base64?4pyT?=',
  '=?base64?!?=',
  '__proto__',
  'a, b',
  'x'.repeat(20_000),
]

const versions = ['2026-07-28', legacyRevision, '2025-03-26', '2024-11-05', '1.0', '2099-01-01', '']
const accepts = ['*/*', 'application/json', 'text/event-stream', 'text/html', '']
const types = ['text/plain', 'application/json; charset=utf-16', 'APPLICATION/JSON', '', 'x']

const withoutHeader = (headers: RawRequest['headers'], name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name))

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
