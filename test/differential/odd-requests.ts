import { anInitialize, initialized, toLegacyHeaders } from '../support/legacy-request.ts'
import { aModernRequest, toModernHeaders } from '../support/modern-request.ts'
import type { RawRequest } from '../support/raw-http.ts'

type Params = Readonly<Record<string, unknown>>

/** Stands for the session of the client. */
export const ownSession = 'session-of-the-lane'

const legacy = (method: string, params: Params = {}, id: string | number = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})

const call = (name: string, input: Params = {}) => ({ name, arguments: input })

const inSession = (body: unknown, headers: Readonly<Record<string, string>> = {}): RawRequest => ({
  headers: { ...toLegacyHeaders(ownSession), ...headers },
  body: JSON.stringify(body),
})

const outsideSession = (
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): RawRequest => ({ headers: { ...toLegacyHeaders(), ...headers }, body: JSON.stringify(body) })

const modern = (
  method: string,
  params: Params = {},
  headers: Readonly<Record<string, string>> = {},
): RawRequest => {
  const message = aModernRequest(method, params)
  return { headers: { ...toModernHeaders(message), ...headers }, body: JSON.stringify(message) }
}

const without = ({ headers, ...rest }: RawRequest, name: string): RawRequest => ({
  ...rest,
  headers: Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name)),
})

const withMeta = (key: string, value: unknown): Params => ({
  _meta: { [`io.modelcontextprotocol/${key}`]: value },
})

const handshake = (params: Params): object => {
  const message = anInitialize(1)
  return { ...message, params: { ...message.params, ...params } }
}

const stream = (headers: Readonly<Record<string, string>>): RawRequest => ({
  method: 'GET',
  headers: { accept: 'text/event-stream', ...headers },
})

/** Requests that a mutation finds rarely, each in a session of its own. */
export const oddRequests: Readonly<Record<string, readonly RawRequest[]>> = {
  'an unknown method': [inSession(legacy('no/such/method')), modern('no/such/method')],
  'a method of the other era': [
    inSession(legacy('server/discover')),
    inSession(legacy('subscriptions/listen')),
    modern('ping'),
    modern('initialize'),
    modern('logging/setLevel', { level: 'info' }),
    modern('resources/subscribe', { uri: 'fuzz://fixed' }),
  ],
  'a long refusal': [modern('tools/list', withMeta('clientInfo', { name: 7, version: '1' }))],
  'missing headers': [
    without(modern('tools/list'), 'mcp-method'),
    without(modern('tools/list'), 'mcp-protocol-version'),
    without(modern('tools/call', call('add', { a: 1 })), 'mcp-name'),
    without(inSession(legacy('tools/list')), 'mcp-protocol-version'),
    without(inSession(legacy('tools/list')), 'accept'),
  ],
  'headers that disagree': [
    modern('tools/call', call('route', { region: 'north' }), { 'mcp-param-region': 'south' }),
    modern('tools/call', call('add', { a: 1 }), { 'mcp-name': 'echo' }),
    modern('tools/call', call('\ufeffadd', { a: 1 })),
    modern('tools/call', call('Grüße')),
    modern('tools/list', {}, { 'mcp-method': 'prompts/list' }),
    modern('tools/list', {}, { 'mcp-protocol-version': '2025-11-25' }),
  ],
  'subscription filters': [
    modern('subscriptions/listen', { notifications: 7 }),
    modern('subscriptions/listen', { notifications: {} }),
    modern('subscriptions/listen', { notifications: { toolsListChanged: true } }),
    modern('subscriptions/listen', { notifications: { resourceSubscriptions: ['fuzz://fixed'] } }),
    modern('subscriptions/listen'),
    modern('subscriptions/listen', {
      notifications: { resourceSubscriptions: ['x'.repeat(70_000)] },
    }),
  ],
  'revisions in a handshake': [
    '2025-11-25',
    '2025-06-18',
    '2025-03-26',
    '2024-11-05',
    '2024-10-07',
    '2026-07-28',
    '2099-01-01',
    '',
  ].map((protocolVersion) => outsideSession(handshake({ protocolVersion }))),
  'capabilities in a handshake': [
    {},
    { elicitation: {} },
    { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: { listChanged: true } },
    { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } } },
    { experimental: { a: { b: { c: 1 } } } },
    { unknown: {}, hasOwnProperty: {}, __defineGetter__: {} },
    { elicitation: { form: 'yes' } },
    { roots: { listChanged: 'yes' } },
    { sampling: true },
    { elicitation: null },
  ].flatMap((capabilities) => [
    outsideSession(handshake({ capabilities })),
    modern('tools/list', withMeta('clientCapabilities', capabilities)),
  ]),
  'a malformed handshake': [
    outsideSession(handshake({ protocolVersion: 7 })),
    outsideSession(handshake({ clientInfo: {} })),
    inSession(handshake({ clientInfo: {} })),
    outsideSession({ jsonrpc: '2.0', id: 1, method: 'initialize' }),
  ],
  'a handshake without an id': [
    inSession({ jsonrpc: '2.0', method: 'initialize', params: anInitialize().params }),
    outsideSession({ jsonrpc: '2.0', method: 'initialize', params: anInitialize().params }),
  ],
  'an answer that looks like a request': [
    modern('tools/call', {
      ...call('confirm'),
      inputResponses: { sure: { method: 'x', action: 'accept' } },
      ...withMeta('clientCapabilities', { elicitation: {} }),
    }),
  ],
  'a second handshake': [
    inSession(anInitialize(1)),
    outsideSession(anInitialize(1), { 'mcp-session-id': 'nobody' }),
  ],
  batches: [
    inSession([legacy('ping'), legacy('tools/list', {}, 2), initialized]),
    inSession([legacy('ping')]),
    inSession([initialized, initialized]),
    inSession([]),
    inSession([7]),
    inSession([legacy('ping'), { jsonrpc: '2.0', id: null }]),
    inSession(Array.from({ length: 101 }, (_, id) => legacy('ping', {}, id))),
    outsideSession([anInitialize(1)]),
    outsideSession([anInitialize(1), anInitialize(2)]),
    outsideSession([anInitialize(1), initialized]),
    inSession([legacy('ping'), anInitialize(2)]),
    inSession([aModernRequest('tools/list')]),
  ],
  'no session': [
    outsideSession(legacy('tools/list')),
    outsideSession(initialized),
    outsideSession(legacy('tools/list'), { 'mcp-session-id': '' }),
    outsideSession(anInitialize(1), { 'mcp-session-id': '' }),
    outsideSession(legacy('tools/list'), { 'mcp-session-id': 'nobody' }),
    stream({}),
    stream({ 'mcp-session-id': 'nobody' }),
    { method: 'DELETE', headers: {} },
    { method: 'DELETE', headers: { 'mcp-session-id': 'nobody' } },
  ],
  'unacceptable streams': [
    { method: 'GET', headers: { 'mcp-session-id': ownSession } },
    stream({ 'mcp-session-id': ownSession, 'last-event-id': 'nothing' }),
    stream({ 'mcp-session-id': ownSession, 'mcp-protocol-version': '1999-01-01' }),
  ],
  'revisions in a header': [
    inSession(legacy('ping'), { 'mcp-protocol-version': '2024-10-07' }),
    inSession(legacy('ping'), { 'mcp-protocol-version': '1999-01-01' }),
    inSession(legacy('ping'), { 'mcp-protocol-version': '2026-07-28' }),
    inSession(initialized, { 'mcp-protocol-version': '2099-01-01' }),
  ],
  'the end of a session': [
    { method: 'DELETE', headers: { 'mcp-session-id': ownSession } },
    inSession(legacy('ping')),
    stream({ 'mcp-session-id': ownSession }),
  ],
  'answers to nothing': [
    inSession({ jsonrpc: '2.0', id: 0, result: {} }),
    inSession({ jsonrpc: '2.0', id: 'x', error: { code: 1, message: 'no' } }),
    inSession({ jsonrpc: '2.0', id: null, error: { code: 1, message: 'no' } }),
    inSession({ jsonrpc: '2.0', error: { code: 1, message: 'no' } }),
  ],
}

const line = (message: unknown): string => `${JSON.stringify(message)}\n`
const withRevision = (revision: string) =>
  aModernRequest('tools/list', withMeta('protocolVersion', revision))

/** What a client can begin a connection with, and what follows. */
export const stdioOpenings: Readonly<Record<string, readonly string[]>> = {
  'a handshake': [line(anInitialize(1)), line(initialized), line(legacy('tools/list', {}, 2))],
  'no handshake': [line(legacy('tools/list')), line(legacy('ping', {}, 2))],
  'a probe, then a handshake': [
    line(aModernRequest('server/discover')),
    line(anInitialize(2)),
    line(legacy('ping', {}, 3)),
  ],
  'a probe without an envelope': [line(legacy('server/discover')), line(anInitialize(2))],
  'a request of 2026': [line(aModernRequest('tools/list')), line(aModernRequest('tools/list'))],
  'a request of 2026, then a handshake': [
    line(aModernRequest('tools/list')),
    line(anInitialize(2)),
  ],
  'a handshake, then a request of 2026': [
    line(anInitialize(1)),
    line(aModernRequest('tools/list', {}, 2)),
  ],
  'an answer': [line({ jsonrpc: '2.0', id: 0, result: {} }), line(anInitialize(1))],
  'a malformed envelope': [
    line(aModernRequest('tools/list', withMeta('clientCapabilities', 7))),
    line(anInitialize(2)),
  ],
  'an unsupported revision': [line(withRevision('2099-01-01')), line(anInitialize(2))],
  'an unsupported revision later': [
    line(aModernRequest('tools/list', {}, 2)),
    line(withRevision('2099-01-01')),
  ],
  'a malformed handshake': [line(handshake({ clientInfo: {} })), line(anInitialize(2))],
  'no envelope later': [
    line(aModernRequest('tools/list', {}, 2)),
    line(legacy('tools/list')),
    line(legacy('no/such/method', {}, 3)),
  ],
  'the id of an open subscription': [
    line(aModernRequest('subscriptions/listen', { notifications: { toolsListChanged: true } })),
    line(aModernRequest('tools/list')),
  ],
  'a notification of 2025': [line(initialized), line(aModernRequest('tools/list'))],
}
