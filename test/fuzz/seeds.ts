import { anInitialize, initialized } from '../support/legacy-request.ts'
import { aModernRequest, type Message } from '../support/modern-request.ts'

type Params = Readonly<Record<string, unknown>>

const withElicitation = {
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} }, sampling: {} },
}

/** Requests of both protocol versions, with more calls than lists. */
const requests: readonly (readonly [method: string, params: Params])[] = [
  ['tools/list', {}],
  ['tools/call', { name: 'echo', arguments: { text: 'hello', value: [1, { a: null }, true] } }],
  ['tools/call', { name: 'echo', arguments: { text: '', extra: { list: ['a', 'b'], n: 0.5 } } }],
  ['tools/call', { name: 'add', arguments: { a: 1, b: 2 } }],
  ['tools/call', { name: 'add', arguments: { a: -1.5 } }],
  ['tools/call', { name: 'route', arguments: { region: 'north', shard: 7 } }],
  [
    'tools/call',
    {
      name: 'order',
      arguments: {
        when: '2026-07-28T00:00:00Z',
        tags: ['a', 'b'],
        amounts: { x: 1, y: 2 },
        by: { kind: 'code', code: 'abc' },
        nested: { deep: [1, true] },
      },
    },
  ],
  ['tools/call', { name: 'report', arguments: { steps: 2 }, _meta: { progressToken: 'p' } }],
  ['tools/call', { name: 'confirm', arguments: { subject: 'this', also: [1] } }],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'fuzz://fixed' }],
  ['resources/read', { uri: 'fuzz://items/one' }],
  ['resources/read', { uri: 'files:///a/b%20c/d.txt' }],
  ['prompts/list', {}],
  ['prompts/get', { name: 'greet', arguments: { who: 'Ada', how: 'Good morning' } }],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'A' } },
  ],
  [
    'completion/complete',
    {
      ref: { type: 'ref/resource', uri: 'fuzz://items/{id}' },
      argument: { name: 'id', value: 't' },
      context: { arguments: { other: 'x' } },
    },
  ],
]

/** Valid messages of the stateless protocol; `state` is a sealed request state of `confirm`. */
export const toModernSeeds = (state: string): readonly Message[] => [
  ...requests.map(([method, params]) => aModernRequest(method, params)),
  aModernRequest('server/discover'),
  aModernRequest('subscriptions/listen', {
    notifications: { toolsListChanged: true, resourceSubscriptions: ['fuzz://fixed'] },
  }),
  aModernRequest('tools/call', {
    name: 'report',
    arguments: { steps: 1 },
    _meta: { 'io.modelcontextprotocol/logLevel': 'debug' },
  }),
  aModernRequest('tools/call', {
    name: 'confirm',
    arguments: { subject: 'it' },
    _meta: withElicitation,
  }),
  aModernRequest('tools/call', {
    name: 'confirm',
    arguments: { subject: 'it' },
    inputResponses: { sure: { action: 'accept', content: { yes: true } } },
    requestState: state,
    _meta: withElicitation,
  }),
  withoutId(aModernRequest('notifications/cancelled', { requestId: 'nobody', reason: 'test' })),
  aModernRequest('no/such/method'),
]

/** Valid messages of a 2025 session, after initialize. */
export const legacySeeds: readonly Message[] = [
  ...requests.map(([method, params]) => ({ jsonrpc: '2.0' as const, id: 1, method, params })),
  anInitialize(1),
  initialized,
  { jsonrpc: '2.0', id: 1, method: 'ping' },
  { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  { jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level: 'info' } },
  { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'fuzz://fixed' } },
  { jsonrpc: '2.0', id: 1, method: 'resources/unsubscribe', params: { uri: 'fuzz://fixed' } },
  { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'nobody' } },
  {
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: 'p', progress: 1, total: 2 },
  },
  { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
  { jsonrpc: '2.0', id: 1, method: 'no/such/method', params: {} },
  // Responses without a matching request.
  { jsonrpc: '2.0', id: 99, result: { action: 'accept', content: {} } } as unknown as Message,
  { jsonrpc: '2.0', id: 99, error: { code: -1, message: 'no' } } as unknown as Message,
]

const withoutId = ({ id: _, ...message }: Message): Message => message
