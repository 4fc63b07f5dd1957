import { expect, onTestFinished, test } from 'vitest'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { dropUndefined } from '../../src/json/drop-undefined.ts'
import { httpUpstream } from '../../src/sources/manifest/invoke/http-upstream.ts'
import type { UpstreamOptions } from '../../src/upstream/upstream.ts'
import { aRawServer, type Respond, reply } from '../support/a-raw-server.ts'
import { atMost } from '../support/amount.ts'
import { anUpstreamRequest, callWithin, summarize } from '../support/an-upstream-call.ts'

function open(options: UpstreamOptions) {
  const upstream = httpUpstream(options)
  onTestFinished(() => upstream.close())
  return upstream
}

async function anAgent(respond: Respond, options: Partial<UpstreamOptions> = {}) {
  const { url, requests } = await aRawServer(respond)
  return { upstream: open({ endpoint: `${url}/v1`, ...options }), requests, url }
}

const anAgentAnswering = (status: number, body = '', headers?: Record<string, string>) =>
  anAgent((socket) => reply(socket, status, body, headers))

test('arguments are posted to the capability URL with credential, idempotency key and traceparent', async () => {
  const { upstream, requests } = await anAgent((socket) => reply(socket, 200, '{"found":true}'), {
    credential: async () => ({ header: 'Authorization', value: 'Bearer ours' }),
  })

  const answer = await upstream.call(
    anUpstreamRequest({
      capability: 'orders.refund',
      input: { order: 7 },
      idempotencyKey: 'k-1',
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    }),
  )

  expect(answer).toEqual({ outcome: { kind: 'done', data: { found: true } }, reached: 'yes' })
  expect(requests).toHaveLength(1)
  expect(requests[0]).toMatchObject({
    line: 'POST /v1/orders.refund HTTP/1.1',
    body: '{"order":7}',
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer ours',
      'idempotency-key': 'k-1',
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    },
  })
})

test.each([
  ['', '/look%20up'],
  ['/', '/look%20up'],
  ['/v1/agent/', '/v1/agent/look%20up'],
  ['/v1?tenant=a%20b', '/v1/look%20up?tenant=a%20b'],
])('the endpoint path "%s" becomes the request path %s', async (path, expected) => {
  const { url, requests } = await aRawServer((socket) => reply(socket, 204))

  await open({ endpoint: `${url}${path}` }).call(anUpstreamRequest({ capability: 'look up' }))

  expect(requests[0]?.line).toBe(`POST ${expected} HTTP/1.1`)
})

test('calls reuse one connection, and the credential is resolved for each call', async () => {
  let lookups = 0
  const ports = new Set<number | undefined>()
  const { upstream, requests } = await anAgent(
    (socket) => {
      ports.add(socket.remotePort)
      reply(socket, 200, '1')
    },
    { credential: async () => ({ header: 'x-key', value: `key ${++lookups}` }) },
  )

  for (let call = 0; call < 5; call++) await upstream.call(anUpstreamRequest())

  expect(ports.size).toBe(1)
  expect(requests.map(({ headers }) => headers['x-key'])).toEqual([
    'key 1',
    'key 2',
    'key 3',
    'key 4',
    'key 5',
  ])
})

test.each([
  ['a 204 without a body', 204, '', {}, { kind: 'done' }],
  ['an empty body', 200, '', { 'content-type': 'application/json' }, { kind: 'done' }],
  ['null', 200, 'null', { 'content-type': 'application/json' }, { kind: 'done', data: null }],
  ['a +json content type', 201, '[1]', { 'content-type': 'application/x+json' }, { data: [1] }],
  ['JSON without a content type', 200, '{"a":1}', {}, { data: { a: 1 } }],
  [
    'text',
    200,
    'Hallo Ö',
    { 'content-type': 'text/plain; charset=utf-8' },
    { content: [{ text: 'Hallo Ö' }] },
  ],
  ['text without a content type', 200, 'so', {}, { content: [{ text: 'so' }] }],
])('%s is a successful answer', async (_, status, body, headers, expected) => {
  const { upstream } = await anAgentAnswering(status, body, headers)

  const { outcome, reached } = await upstream.call(anUpstreamRequest())

  expect(outcome).toMatchObject({ kind: 'done', ...expected })
  expect(reached).toBe('yes')
})

test.each([
  [
    'invalid JSON',
    200,
    '{"a":',
    { 'content-type': 'application/json' },
    'upstream_invalid',
    'maybe',
  ],
  ['an image', 200, 'x', { 'content-type': 'image/png' }, 'upstream_invalid', 'maybe'],
  [
    'a compressed body',
    200,
    'x',
    { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    'upstream_invalid',
    'maybe',
  ],
  ['a redirect', 307, '', { location: 'http://127.0.0.1:1/' }, 'upstream_redirected', 'yes'],
  ['a redirect after a POST', 303, '', { location: '/done' }, 'upstream_redirected', 'maybe'],
  ['401', 401, '', {}, 'upstream_credentials', 'yes'],
  ['403', 403, '', {}, 'upstream_credentials', 'yes'],
  ['422', 422, '{}', {}, 'upstream_refused', 'yes'],
  ['429', 429, '', {}, 'upstream_busy', 'yes'],
  ['500', 500, 'stack trace', {}, 'upstream_unavailable', 'maybe'],
  ['503', 503, '', {}, 'upstream_unavailable', 'maybe'],
] as const)('%s is a typed failure', async (_, status, body, headers, code, reached) => {
  const { upstream, requests } = await anAgentAnswering(status, body, headers)

  const answer = await upstream.call(anUpstreamRequest())

  expect(summarize(answer)).toEqual([code, reached])
  expect(requests).toHaveLength(1)
})

test.each([
  ['application/json', '{"message":"No such order."}', 'No such order.'],
  ['application/json', '{"error":{"code":1,"message":"No such\\norder."}}', 'No such order.'],
  ['application/problem+json', '{"title":"Bad","detail":"No such order."}', 'No such order.'],
  ['text/plain', 'No such order.', 'No such order.'],
  ['text/plain', 'ö'.repeat(100_000), `${'ö'.repeat(1000)}…`],
  ['text/html', '<html>', 'The agent rejected the request with HTTP 400.'],
  ['application/json', '', 'The agent rejected the request with HTTP 400.'],
])(
  'the failure message of a 400 response of type %s comes from its body',
  async (type, body, message) => {
    const { upstream } = await anAgentAnswering(400, body, { 'content-type': type })

    const { outcome } = await upstream.call(anUpstreamRequest())

    expect(outcome).toMatchObject({ failure: { message, fixedBy: 'model', retryable: false } })
  },
)

test.each([
  ['3', undefined, 3000],
  ['Mon, 16 Nov 2026 12:01:00 GMT', 'Mon, 16 Nov 2026 12:00:00 GMT', 60_000],
  ['Mon, 16 Nov 2026 11:00:00 GMT', 'Mon, 16 Nov 2026 12:00:00 GMT', 0],
  ['Mon, 16 Nov 2026 12:01:00 GMT', undefined, undefined],
])('retry_after_ms is parsed from Retry-After: %s with Date: %s', async (value, date, wait) => {
  const { upstream } = await anAgentAnswering(429, '', {
    'retry-after': value,
    ...dropUndefined({ date }),
  })

  const { outcome } = await upstream.call(anUpstreamRequest())

  if (outcome.kind !== 'failed') throw new Error(outcome.kind)
  expect(outcome.failure.retryable).toBe(true)
  expect(outcome.failure.details?.retry_after_ms).toBe(wait)
})

test('the body of a 500 response is only in the cause, not in the public failure', async () => {
  const { upstream } = await anAgentAnswering(500, '{"message":"password is hunter2"}')

  const { outcome } = await upstream.call(anUpstreamRequest())

  if (outcome.kind !== 'failed') throw new Error(outcome.kind)
  const { cause, ...publicFailure } = outcome.failure
  expect(cause).toContain('hunter2')
  expect(JSON.stringify(publicFailure)).not.toContain('hunter2')
  expect(publicFailure.fixedBy).toBe('operator')
})

test.each([
  ['stdio:node server.js'],
  ['file:///etc/passwd'],
  ['ftp://127.0.0.1/'],
  ['/relative'],
  ['http://user:secret@127.0.0.1/'],
])('the endpoint %s is refused', async (endpoint) => {
  const answer = await open({ endpoint }).call(anUpstreamRequest())

  expect(summarize(answer)).toEqual(['upstream_endpoint', 'no'])
  expect(JSON.stringify(answer)).not.toContain('secret@')
})

test.each(['..', '.'])('a capability named %s is refused (path traversal)', async (capability) => {
  const { upstream, requests } = await anAgentAnswering(204)

  const answer = await upstream.call(anUpstreamRequest({ capability }))

  expect(summarize(answer)).toEqual(['upstream_endpoint', 'no'])
  expect(requests).toEqual([])
})

test.each(['a\r\nx-evil: 1', 'schlüssel', ''])(
  'the invalid idempotency key %j is refused',
  async (idempotencyKey) => {
    const { upstream, requests } = await anAgentAnswering(204)

    const answer = await upstream.call(anUpstreamRequest({ idempotencyKey }))

    expect(summarize(answer)).toEqual(['upstream_refused', 'no'])
    expect(requests).toEqual([])
  },
)

test.each([
  ['that cannot be resolved', () => Promise.reject(new Error('no such variable'))],
  ['that is not a valid header value', async () => ({ header: 'authorization', value: 'a\nb' })],
])('a credential %s fails with upstream_credentials', async (_, credential) => {
  const { url, requests } = await aRawServer((socket) => reply(socket, 204))

  const answer = await open({ endpoint: url, credential }).call(anUpstreamRequest())

  expect(summarize(answer)).toEqual(['upstream_credentials', 'no'])
  expect(requests).toEqual([])
})

test('a credential that never resolves does not outlast the call deadline', async () => {
  const { url } = await aRawServer((socket) => reply(socket, 204))
  const upstream = open({ endpoint: url, credential: () => new Promise(() => {}) })

  const answer = await callWithin(100, upstream)

  expect(summarize(answer)).toEqual(['upstream_stopped', 'no'])
  expect(answer.took).toBeLessThan(atMost(1000))
})

test('cancelling a call closes the connection', async () => {
  let resolveClosed: (value: unknown) => void = () => {}
  const connectionClosed = new Promise((resolve) => {
    resolveClosed = resolve
  })
  const cancellation = new Cancellation()
  const { upstream } = await anAgent((socket) => {
    socket.on('close', resolveClosed)
    cancellation.cancel('The client left.')
  })

  const answer = await upstream.call(anUpstreamRequest({ cancellation }))

  expect(summarize(answer)).toEqual(['upstream_stopped', 'maybe'])
  await connectionClosed
})

test('a call that is already cancelled sends no request', async () => {
  const { upstream, requests } = await anAgentAnswering(204)
  const cancellation = new Cancellation()
  cancellation.cancel('The client left.')

  const answer = await upstream.call(anUpstreamRequest({ cancellation }))

  expect(summarize(answer)).toEqual(['upstream_stopped', 'no'])
  expect(requests).toEqual([])
})
