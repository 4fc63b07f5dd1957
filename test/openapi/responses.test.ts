import { describe, expect, test } from 'vitest'
import { aDocument, anOperation, type ServedApi, serveApi } from '../support/api/an-api.ts'
import type { Fields } from '../support/api/api-document.ts'
import type { MockReply, Respond } from '../support/api/mock-api.ts'
import { eventually } from '../support/eventually.ts'
import { Latch } from '../support/latch.ts'
import { aModernClient } from '../support/official-clients.ts'

const jsonType = { 'content-type': 'application/json' }
const json = (value: unknown, status = 200, headers = {}): MockReply => ({
  status,
  headers: { ...jsonType, ...headers },
  body: JSON.stringify(value),
})

/** `read` and `write` of an API that answers with this reply. */
async function answering(
  reply: MockReply | Respond,
  { responses = {}, parameters = [] as Fields[], source = {} } = {},
): Promise<ServedApi> {
  const declared = { responses: { '200': { description: 'Done.' }, ...responses }, parameters }
  const file = await aDocument({
    '/thing': {
      get: anOperation('read', declared),
      post: anOperation('write', declared),
      head: anOperation('look', declared),
    },
  })
  return serveApi(file, { respond: typeof reply === 'function' ? reply : () => reply, source })
}

describe('a successful response', () => {
  test.each<[string, MockReply, object]>([
    [
      'JSON',
      json({ a: 1 }),
      { structuredContent: { a: 1 }, content: [{ type: 'text', text: '{"a":1}' }] },
    ],
    [
      'JSON of another name',
      { ...json([1]), headers: { 'content-type': 'application/hal+json; x=1' } },
      { content: [{ text: '[1]' }] },
    ],
    [
      'JSON without a media type',
      { status: 200, body: '{"a":1}' },
      { structuredContent: { a: 1 } },
    ],
    [
      'text',
      { status: 200, headers: { 'content-type': 'text/csv' }, body: 'a,b' },
      { content: [{ type: 'text', text: 'a,b' }] },
    ],
    [
      'text in Latin-1',
      {
        status: 200,
        headers: { 'content-type': 'text/plain; charset=ISO-8859-1' },
        body: Buffer.from('Zoë', 'latin1'),
      },
      { content: [{ text: 'Zoë' }] },
    ],
    [
      'text in an unknown encoding',
      { status: 200, headers: { 'content-type': 'text/plain; charset=x-own' }, body: 'Zoë' },
      { content: [{ text: 'Zoë' }] },
    ],
    [
      'JSON in UTF-16',
      {
        status: 200,
        headers: { 'content-type': 'application/json; charset="utf-16le"' },
        body: Buffer.from('{"a":"Zoë"}', 'utf16le'),
      },
      { structuredContent: { a: 'Zoë' } },
    ],
    [
      'XML',
      { status: 200, headers: { 'content-type': 'image/svg+xml' }, body: '<a/>' },
      { content: [{ text: '<a/>' }] },
    ],
    [
      'an image',
      { status: 200, headers: { 'content-type': 'image/png' }, body: Buffer.from([1, 255]) },
      { content: [{ type: 'image', mimeType: 'image/png', data: 'Af8=' }] },
    ],
    [
      'sound',
      { status: 200, headers: { 'content-type': 'audio/wav' }, body: Buffer.from([1, 255]) },
      { content: [{ type: 'audio', mimeType: 'audio/wav', data: 'Af8=' }] },
    ],
    [
      'bytes',
      { status: 200, headers: { 'content-type': 'application/zip' }, body: Buffer.from([1, 255]) },
      { content: [{ type: 'resource', resource: { mimeType: 'application/zip', blob: 'Af8=' } }] },
    ],
    [
      'nothing',
      { status: 204 },
      { content: [{ type: 'text', text: 'HTTP 204, without content.' }] },
    ],
  ])('with %s becomes a result', async (_, reply, expected) => {
    const { bridge } = await answering(reply)

    const result = await bridge.call('read', {})

    expect(result).toMatchObject(expected)
    expect(result).not.toHaveProperty('isError')
  })

  test.each([
    ['a list', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
    ['an object', `${'{"error":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
  ])(
    'with %s of 20,000 levels cannot be read, and a write may have taken effect',
    async (_, body) => {
      const { bridge } = await answering({ ...json({}, 201, { location: '/thing/7' }), body })

      expect(await bridge.call('write', {})).toMatchObject({ isError: true })

      expect(bridge.audit.at(-1)).toMatchObject({ code: 'outcome_unknown' })
      await bridge.call('read', {})
      expect(bridge.audit.at(-1)).toMatchObject({ code: 'upstream_invalid' })
    },
  )

  const large = '9007199254740993'

  test('has large integers as texts of their digits, and says so', async () => {
    const body = `{"id":${large},"list":[-${large}0, 12],"text":"\\",${large}","e":1.5e20,"f":0.${large}}`
    const { bridge } = await answering({ ...json({}), body })

    const { structuredContent, content } = await bridge.call('read', {})

    expect(structuredContent).toEqual({
      id: large,
      list: [`-${large}0`, 12],
      text: `",${large}`,
      e: 1.5e20,
      f: Number(`0.${large}`),
    })
    expect(content.at(-1)).toEqual({
      type: 'text',
      text: `Integers beyond 2^53 are shown as texts, such as "${large}".`,
    })
  })

  test('keeps large integers where a schema is enforced, and says that they are rounded', async () => {
    const schema = { type: 'object', properties: { id: { type: 'integer' } } }
    const { bridge } = await answering(
      { ...json({}), body: `{"id":${large}}` },
      {
        responses: { 200: { description: 'Done.', content: { 'application/json': { schema } } } },
        source: { outputs: true },
      },
    )

    const { structuredContent, content } = await bridge.call('read', {})

    expect(structuredContent).toEqual({ id: Number(large) })
    expect(content.at(-1)).toEqual({
      type: 'text',
      text: `Integers beyond 2^53 are rounded: one was ${large}.`,
    })
  })

  test('tells the declared headers, and where a created thing is', async () => {
    const { bridge } = await answering(
      json({}, 201, { location: '/thing/7', 'x-left': '3', 'x-other': 'no', 'set-cookie': 'a=b' }),
      { responses: { '201': { description: 'Created.', headers: { 'X-Left': {} } } } },
    )

    const { content } = await bridge.call('write', {})

    expect(content.at(-1)).toEqual({ type: 'text', text: 'Headers: x-left: 3; location: /thing/7' })
  })

  test('of HEAD tells its headers, however large the content would be', async () => {
    const { bridge } = await answering((_, response) => {
      response.writeHead(200, {
        'content-length': '99999999999',
        'content-type': 'video/mp4',
        etag: '"1"',
      })
      response.end()
      return true
    })

    const { content, isError } = await bridge.call('look', {})

    expect(isError).toBeUndefined()
    expect(content).toEqual([
      { type: 'text', text: expect.stringMatching(/content-length: 99999999999; .*etag: "1"/) },
    ])
  })

  test.each<[string, MockReply | Respond, string]>([
    ['invalid JSON', { status: 200, headers: jsonType, body: '{"a":' }, 'upstream_invalid'],
    [
      'JSON that is not UTF-8',
      { status: 200, headers: jsonType, body: Buffer.from([0x22, 0xff, 0x22]) },
      'upstream_invalid',
    ],
    [
      'a content encoding',
      { status: 200, headers: { ...jsonType, 'content-encoding': 'br' }, body: 'x' },
      'upstream_invalid',
    ],
    [
      'an end in the middle',
      (_, response) => {
        response.writeHead(200, { ...jsonType, 'content-length': '100' })
        response.write('{"a":1')
        setImmediate(() => response.destroy())
        return true
      },
      'upstream_unavailable',
    ],
    ['more than 4 MiB', json('x'.repeat(5_000_000)), 'upstream_too_large'],
  ])('with %s is a failure; of a write, the outcome is unknown', async (_, reply, code) => {
    const { bridge } = await answering(reply)

    const results = [await bridge.call('read', {}), await bridge.call('write', {})]

    expect(results.every(({ isError }) => isError)).toBe(true)
    expect(bridge.audit.map((entry) => entry.code).filter(Boolean)).toEqual([
      code,
      'outcome_unknown',
    ])
  })
})

describe('a refusal', () => {
  test('is explained to the model, with the meaning that the document gives it', async () => {
    const problem = {
      title: 'Invalid',
      detail: 'The date is in the past.',
      errors: [{ field: 'date' }],
      stack: 'at x',
    }
    const { bridge } = await answering(
      { ...json(problem, 422), headers: { 'content-type': 'application/problem+json' } },
      { responses: { '4XX': { description: 'Not possible.' } } },
    )

    const { content, isError } = await bridge.call('write', {})

    const [{ text = '' } = {}] = content as { text?: string }[]
    expect(isError).toBe(true)
    expect(text).toContain('HTTP 422 (Not possible.): The date is in the past.')
    expect(text).toContain('"field":"date"')
    expect(text).not.toContain('at x')
  })

  test.each<[number, Fields, string, string]>([
    [400, {}, 'upstream_refused', 'HTTP 400'],
    [401, {}, 'upstream_credentials', 'unavailable'],
    [403, {}, 'upstream_credentials', 'unavailable'],
    [403, { '403': { description: 'Not your thing.' } }, 'upstream_refused', 'Not your thing.'],
    [404, {}, 'upstream_refused', 'HTTP 404'],
    [429, {}, 'upstream_busy', 'in 7 s'],
    [500, {}, 'upstream_unavailable', 'unavailable'],
    [503, {}, 'upstream_unavailable', 'unavailable'],
  ])('with status %i and %j of a read is %s', async (status, responses, code, says) => {
    const reply = json({ message: 'why' }, status, { 'retry-after': '7' })
    const { bridge } = await answering(reply, { responses })

    const result = await bridge.call('read', {})

    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining(says) }],
    })
    expect(bridge.audit.at(-1)).toMatchObject({ code })
  })

  test('with status 500 of a write leaves open whether it took effect', async () => {
    const { bridge } = await answering(json({}, 500))

    await bridge.call('write', {})

    expect(bridge.audit.at(-1)).toMatchObject({ code: 'outcome_unknown' })
  })
})

describe('a redirect', () => {
  const moved = (to: string, status: number) => ({ status, headers: { location: to } })

  test.each([301, 302, 303, 307, 308])('with status %i is not followed', async (status) => {
    const { bridge, api } = await answering(moved('/elsewhere', status))

    const result = await bridge.call('read', {})

    expect(result).toMatchObject({ isError: true })
    expect(bridge.audit.at(-1)).toMatchObject({ code: 'upstream_redirected' })
    expect(api.received).toHaveLength(1)
  })

  test('that the document declares is an answer, and not followed either', async () => {
    const { bridge, api } = await answering(moved('https://files.example/a?b', 302), {
      responses: { '302': { description: 'The file is there.' } },
    })

    const result = await bridge.call('read', {})

    expect(result.content).toEqual([
      {
        type: 'text',
        text: 'HTTP 302 (The file is there.), not followed. Headers: location: https://files.example/a?b',
      },
    ])
    expect(result.isError).toBeUndefined()
    expect(api.received).toHaveLength(1)
  })
})

describe('a slow API', () => {
  test('is given up after the timeout, and the request is aborted', async () => {
    const closed = new Latch()
    const { bridge } = await answeringNever(closed, { policy: { limits: { timeout: 200 } } })

    const result = await bridge.call('read', {})

    expect(result).toMatchObject({ isError: true })
    expect(bridge.audit.at(-1)).toMatchObject({ code: 'timed_out' })
    await closed.opened
  })

  test('is left when the client cancels', async () => {
    const closed = new Latch()
    const { url, api } = await answeringNever(closed, {})
    const client = await aModernClient(url)
    const controller = new AbortController()

    const call = client.callTool({ name: 'read', arguments: {} }, { signal: controller.signal })
    call.catch(() => {})
    await eventually(() => expect(api.received).toHaveLength(1))
    controller.abort()

    await expect(call).rejects.toThrow()
    await closed.opened
  })

  async function answeringNever(closed: Latch, bridge: object): Promise<ServedApi> {
    const file = await aDocument({ '/thing': { get: anOperation('read') } })
    const respond: Respond = (_, response) => {
      response.on('close', () => closed.open())
      return true
    }
    return serveApi(file, { respond, bridge })
  }
})

describe('the next page', () => {
  const query = (...names: string[]) =>
    names.map((name) => ({
      name,
      in: 'query',
      schema: { type: /^(?:page|offset)$/.test(name) ? 'integer' : 'string' },
    }))

  test.each<[string, string[], MockReply, Fields]>([
    [
      'a Link header',
      ['page', 'q'],
      json([1], 200, { link: '</thing?q=a&page=1>; rel="prev", </thing?q=a&page=3>; rel="next"' }),
      { page: 3, q: 'a' },
    ],
    [
      'a URL in the body',
      ['cursor'],
      json({ next: 'https://else.example/thing?cursor=c2' }),
      { cursor: 'c2' },
    ],
    ['a token in the body', ['page_token'], json({ nextPageToken: 't2' }), { page_token: 't2' }],
    [
      'a cursor',
      ['cursor'],
      json({ response_metadata: { next_cursor: 'c=2' } }),
      { cursor: 'c=2' },
    ],
    [
      'has_more',
      ['starting_after'],
      json({ has_more: true, data: [{ id: 'a' }, { id: 'b' }] }),
      { starting_after: 'b' },
    ],
    [
      'a URL of HAL without an underscore',
      ['page'],
      json({ links: { next: { href: '/thing?page=2' } } }),
      { page: 2 },
    ],
    ['a page of its pagination', ['page'], json({ pagination: { next: 3 } }), { page: 3 }],
  ])('by %s is told in text and in _meta', async (_, names, reply, expected) => {
    const { bridge } = await answering(reply, { parameters: query(...names) })

    const result = await bridge.call('read', {})

    expect(JSON.stringify(result.content)).toContain(
      JSON.stringify(JSON.stringify(expected)).slice(1, -1),
    )
    expect(Object.values(result._meta ?? {})).toContainEqual({ arguments: expected })
    expect(result.content[0]).toEqual({ type: 'text', text: String(reply.body) })
  })

  const page = (schema: object, name = 'page') => ({ name, in: 'query', schema })
  const optional = { anyOf: [{ type: 'integer' }, { type: 'null' }] }
  test.each<[string, Fields[], string, Fields]>([
    ['an integer or null', [page(optional)], 'page=2', { page: 2 }],
    ['a combination', [page({ allOf: [optional], minimum: 1 })], 'page=2', { page: 2 }],
    ['one of two types', [page({ oneOf: [{ type: 'string' }, optional] })], 'page=2', { page: 2 }],
    ['a text of digits', [page({ type: 'string', pattern: '^\\d+$' })], 'page=2', { page: '2' }],
    [
      'a large integer',
      [page({ type: 'integer', format: 'int64' })],
      'page=12345678901234567890',
      { page: '12345678901234567890' },
    ],
    [
      'one beside a value that is refused',
      [page(optional), page({ type: 'integer', maximum: 100 }, 'limit')],
      'page=2&limit=500',
      { page: 2 },
    ],
  ])('is told as the tool takes it: %s', async (_, parameters, search, expected) => {
    const { bridge, api } = await answering(json({ next: `/thing?${search}` }), { parameters })

    const result = await bridge.call('read', {})

    expect(Object.values(result._meta ?? {})).toContainEqual({ arguments: expected })
    expect(await bridge.call('read', expected)).not.toHaveProperty('isError')
    expect(api.received[1]?.target).toContain(search.split('&')[0])
  })

  test.each<[string, MockReply]>([
    ['no more', json({ has_more: false, data: [{ id: 'a' }] })],
    ['an empty cursor', json({ response_metadata: { next_cursor: '' } })],
    ['a URL that changes nothing', json({ next: '/thing?other=1' })],
    ['a link that is not a URL', json([], 200, { link: '<http://[>; rel=next' })],
    ['a value that the parameter cannot have', json({ next: '/thing?page=x2&kind=c&tags=a' })],
    ['a value beyond a limit', json({ next: '/thing?size=500&day=tomorrow' })],
  ])('is not told for %s', async (_, reply) => {
    const parameters = [
      ...query('cursor', 'starting_after', 'page'),
      { name: 'kind', in: 'query', schema: { enum: ['a', 'b'] } },
      { name: 'tags', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
      { name: 'size', in: 'query', schema: { type: 'integer', maximum: 100 } },
      { name: 'day', in: 'query', schema: { type: 'string', pattern: '^[0-9-]+$' } },
    ]
    const { bridge } = await answering(reply, { parameters })

    const result = await bridge.call('read', {})

    expect(JSON.stringify(result)).not.toContain('next page')
  })
})

describe('with outputs: true', () => {
  const responses = {
    '200': {
      description: 'Done.',
      content: {
        'application/json': {
          schema: {
            type: 'object',
            properties: { id: { type: 'integer' }, password: { type: 'string', writeOnly: true } },
            required: ['id', 'password'],
          },
        },
      },
    },
  }

  test('the schema of the response is shown, and a response that fits is returned', async () => {
    const { bridge } = await answering(json({ id: 1 }), { responses, source: { outputs: true } })

    const { tools } = await bridge.list()

    expect(tools.find(({ name }) => name === 'read')?.outputSchema).toMatchObject({
      properties: { id: { type: 'integer' } },
      required: ['id'],
    })
    expect(await bridge.call('read', {})).toMatchObject({ structuredContent: { id: 1 } })
  })

  test('a response that does not fit is withheld', async () => {
    const { bridge } = await answering(json({ id: 'one' }), {
      responses,
      source: { outputs: true },
    })

    expect(await bridge.call('read', {})).toMatchObject({ isError: true })
  })
})

test.each(['error', 'other'])('a refusal of 8,000 levels of %s is a refusal', async (key) => {
  const body = `${`{"${key}":`.repeat(8000)}1${'}'.repeat(8000)}`
  const { bridge } = await answering({ ...json({}, 400), body })

  const result = await bridge.call('write', {})

  expect(result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('400') }],
  })
  expect(bridge.audit.at(-1)).toMatchObject({ code: 'upstream_refused' })
})

describe('what a response cannot do', () => {
  const cursor = [{ name: 'cursor', in: 'query', schema: { type: 'string' } }]

  test.each([
    ['write', 'c2', false],
    ['read', 'c2', true],
    ['read', 'c'.repeat(2001), false],
  ])('%s proposes a further call with a cursor of its length: %#', async (name, next, isShown) => {
    const { bridge } = await answering(json({ next_cursor: next }), { parameters: cursor })

    const result = await bridge.call(name, {})

    expect(JSON.stringify(result.content).includes('next page')).toBe(isShown)
  })

  test('show a cookie, or a header that every object has', async () => {
    const headers = { 'set-cookie': {}, constructor: {}, 'x-left': {} }
    const responses = { '200': { description: 'Done.', headers } }
    const reply = json({}, 200, { 'set-cookie': 'session=very-secret', 'x-left': '3' })
    const { bridge } = await answering(reply, { responses })

    const { content } = await bridge.call('read', {})

    expect(content.at(-1)).toMatchObject({ text: 'Headers: x-left: 3' })
  })

  test('a 304 says that nothing was modified', async () => {
    const { bridge } = await answering({ status: 304, headers: {} })

    const result = await bridge.call('read', {})

    expect(result.isError).toBeUndefined()
    expect(result.content).toMatchObject([{ text: 'HTTP 304: not modified.' }])
  })
})
