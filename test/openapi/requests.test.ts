import { describe, expect, test } from 'vitest'
import { aDocument, anOperation, serveApi } from '../support/api/an-api.ts'

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const optional = (schema: object) => ({ anyOf: [schema, { type: 'null' }] })
const json = (schema: object) => ({ content: { 'application/json': { schema } } })

describe('what is sent', () => {
  test('does not contain the defaults of the document, which would overwrite other values', async () => {
    const file = await aDocument({
      '/repos': {
        patch: anOperation('update', {
          parameters: [{ name: 'dry', in: 'query', schema: { type: 'boolean', default: true } }],
          requestBody: json({
            type: 'object',
            properties: {
              name: { type: 'string' },
              isPrivate: { type: 'boolean', default: false },
              nested: { type: 'object', properties: { size: { type: 'integer', default: 5 } } },
            },
          }),
        }),
      },
    })
    const { bridge, api } = await serveApi(file)

    await bridge.call('update', { body: { name: 'x', nested: {} } })

    expect(api.received[0]).toMatchObject({
      target: '/repos',
      body: { value: { name: 'x', nested: {} } },
    })
    const { tools } = await bridge.list()
    expect(tools[0]?.inputSchema).toMatchObject({
      properties: { body: { properties: { isPrivate: { default: false } } } },
    })
  })

  test.each(['get', 'delete', 'options'])(
    'a body of %s is not read as another request',
    async (method) => {
      const file = await aDocument({
        '/things': {
          [method]: anOperation('send', { requestBody: { content: { 'text/plain': {} } } }),
        },
      })
      const { bridge, api } = await serveApi(file)
      const body = 'GET /things HTTP/1.1\r\nHost: x\r\n\r\n'

      const result = await bridge.call('send', { body })

      expect(result.isError).toBeUndefined()
      expect(api.received).toHaveLength(1)
      expect(api.received[0]).toMatchObject({ body: { text: body } })
    },
  )

  test.each(['get', 'post'])('a header of %s is Latin-1', async (method) => {
    const file = await aDocument({
      '/things': {
        [method]: anOperation('send', {
          parameters: [{ name: 'X-Name', in: 'header', schema: { type: 'string' } }],
          requestBody: { content: { 'text/plain': {} } },
        }),
      },
    })
    const { bridge, api } = await serveApi(file)

    await bridge.call('send', { 'X-Name': 'Zoë', body: 'x' })

    expect(api.received[0]?.headers['x-name']).toBe('Zoë')
  })

  test('has the idempotency key of a write, also where the document requires one', async () => {
    const required = {
      parameters: [
        { name: 'Idempotency-Key', in: 'header', required: true, schema: { type: 'string' } },
        { name: 'amount', in: 'query', schema: { type: 'integer' } },
      ],
    }
    const file = await aDocument({
      '/pay': { post: anOperation('pay', required), get: anOperation('read') },
    })
    const { bridge, api } = await serveApi(file)

    await bridge.call('pay', { amount: 1 })
    await bridge.call('pay', { amount: 2 }, { idempotencyKey: 'mine' })
    await bridge.call('read', {}, { idempotencyKey: 'mine' })

    const keys = api.received.map(({ headers }) => headers['idempotency-key'])
    expect(keys).toEqual([expect.stringMatching(/^[\w-]{20,}$/), 'mine', undefined])
    expect((await bridge.list()).tools.map(({ inputSchema }) => inputSchema.properties)).toEqual([
      { amount: { type: 'integer' } },
      {},
    ])
  })

  test.each([
    ['spaces', ['a b'], '" "'],
    ['pipes', ['a|b'], '"|"'],
    ['X-List', ['a,b'], '","'],
    ['X-Object', { 'a=b': 'c' }, '"="'],
    ['joined', ['a,b'], '","'],
  ])(
    '%s with the separator of its style is refused instead of changed',
    async (name, value, separator) => {
      const list = { type: 'array', items: { type: 'string' } }
      const file = await aDocument({
        '/lists': {
          get: anOperation('lists', {
            parameters: [
              { name: 'spaces', in: 'query', style: 'spaceDelimited', schema: list },
              { name: 'pipes', in: 'query', style: 'pipeDelimited', schema: list },
              { name: 'joined', in: 'query', explode: false, allowReserved: true, schema: list },
              { name: 'X-List', in: 'header', schema: list },
              { name: 'X-Object', in: 'header', explode: true, schema: { type: 'object' } },
            ],
          }),
        },
      })
      const { bridge, api } = await serveApi(file)

      const result = await bridge.call('lists', { [name]: value })

      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining(`"${name}" must not contain ${separator}`) }],
      })
      expect(api.received).toEqual([])
    },
  )

  test('has no nulls in a form, as none are in a query', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: ['string', 'null'] }, b: { type: 'string' } },
    }
    const form = (type: string) => ({ requestBody: { content: { [type]: { schema } } } })
    const file = await aDocument({
      '/form': {
        post: anOperation('form', form('application/x-www-form-urlencoded')),
        put: anOperation('parts', form('multipart/form-data')),
      },
    })
    const { bridge, api } = await serveApi(file)

    await bridge.call('form', { body: { a: null, b: 'x' } })
    await bridge.call('parts', { body: { a: null, b: 'x' } })

    expect(api.received[0]?.bytes.toString()).toBe('b=x')
    expect(api.received[1]?.body).toMatchObject({ parts: [{ name: 'b' }] })
  })

  test.each([
    ['of which a discriminator selects one', { discriminator: { propertyName: 'kind' } }],
    ['that overlap', {}],
  ])('may fit several schemas %s', async (_, discriminator) => {
    const runner = (field: string) => ({
      type: 'object',
      properties: { [field]: { type: 'string' } },
    })
    const file = await aDocument(
      {
        '/runners': {
          post: anOperation('addRunner', {
            requestBody: {
              required: true,
              content: {
                'application/json': {
                  schema: {
                    oneOf: [
                      { $ref: '#/components/schemas/Local' },
                      { $ref: '#/components/schemas/Remote' },
                    ],
                    ...discriminator,
                  },
                },
              },
            },
          }),
        },
      },
      { components: { schemas: { Local: runner('name'), Remote: runner('url') } } },
    )
    const { bridge, api } = await serveApi(file)

    expect(await bridge.call('addRunner', { body: { name: 'first' } })).not.toHaveProperty(
      'isError',
    )
    expect(api.received[0]?.problems).toEqual([])
    expect(await bridge.call('addRunner', { body: { name: 1, url: 2 } })).toHaveProperty('isError')
  })

  test.each<[string, object]>([
    ['a referenced schema', { allOf: [ref('Base')], required: ['id', 'name'] }],
    ['a part beside it', { allOf: [ref('Base'), { required: ['id', 'name'] }] }],
    ['a referenced part beside it', { allOf: [ref('Base'), ref('Required')] }],
    ['a part of a referenced schema', { allOf: [ref('Nested'), ref('Required')] }],
    ['a schema beside a reference', { ...ref('Base'), required: ['id', 'name'] }],
  ])('does not need what is readOnly in %s', async (_, schema) => {
    const schemas = {
      Base: {
        type: 'object',
        properties: { id: { type: 'string', readOnly: true }, name: { type: 'string' } },
      },
      Nested: { allOf: [ref('Base')] },
      Required: { required: ['id', 'name'] },
    }
    const file = await aDocument(
      { '/things': { post: anOperation('make', { requestBody: json(schema) }) } },
      { components: { schemas } },
    )
    const { bridge, api } = await serveApi(file)

    expect(await bridge.call('make', { body: { name: 'x' } })).not.toHaveProperty('isError')
    expect(api.received[0]?.body).toMatchObject({ value: { name: 'x' } })
    expect(await bridge.call('make', { body: {} })).toHaveProperty('isError')
  })

  const binary = { type: 'string', format: 'binary' }
  test.each<[string, object, unknown]>([
    ['one that can be null', { anyOf: [binary, { type: 'null' }] }, { text: 'x' }],
    ['a list that can be null', optional({ type: 'array', items: binary }), [{ text: 'x' }]],
    ['a list of such', { type: 'array', items: optional(binary) }, [{ text: 'x' }]],
    ['types with null', { type: ['string', 'null'], format: 'binary' }, { text: 'x' }],
    ['a list of types with null', { type: ['array', 'null'], items: binary }, [{ text: 'x' }]],
    ['allOf around one', { allOf: [binary], description: 'A file.' }, { text: 'x' }],
    ['a referenced one', { allOf: [ref('File')] }, { text: 'x' }],
    ['a list that is referenced', ref('Files'), [{ text: 'x' }]],
  ])('is a file also as %s', async (_, schema, value) => {
    const content = { 'multipart/form-data': { schema: { properties: { file: schema } } } }
    const schemas = { File: binary, Files: { type: 'array', items: binary } }
    const file = await aDocument(
      { '/files': { post: anOperation('send', { requestBody: { content } }) } },
      { components: { schemas } },
    )
    const { bridge, api } = await serveApi(file)

    expect(await bridge.call('send', { body: { file: value } })).not.toHaveProperty('isError')

    expect(api.received[0]?.body).toMatchObject({
      parts: [{ name: 'file', filename: 'file' }],
    })
  })

  test.each<[string, object, boolean]>([
    ['null', { anyOf: [binary, { type: 'null' }] }, true],
    ['a null type', { type: ['string', 'null'], format: 'binary' }, true],
    ['null in a reference', ref('Optional'), true],
    ['a list or null', optional({ type: 'array', items: binary }), true],
    ['no null', binary, false],
    ['a list of nulls', { type: 'array', items: optional(binary) }, false],
  ])('has no part for a file that is null, if its schema has %s', async (_, schema, isTaken) => {
    const properties = { file: schema, note: { type: 'string' } }
    const content = { 'multipart/form-data': { schema: { properties } } }
    const file = await aDocument(
      { '/files': { post: anOperation('send', { requestBody: { content } }) } },
      { components: { schemas: { Optional: optional(binary) } } },
    )
    const { bridge, api } = await serveApi(file)

    const result = await bridge.call('send', { body: { file: null, note: 'x' } })

    expect(result.isError).toBe(isTaken ? undefined : true)
    expect(api.received.map(({ body }) => body)).toMatchObject(
      isTaken ? [{ parts: [{ name: 'note' }] }] : [],
    )
  })

  test('names arguments uniquely, and as clients allow', async () => {
    const parameters = [
      { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'query_id', in: 'query', schema: { type: 'string' } },
      { name: 'id', in: 'query', schema: { type: 'string' } },
      { name: 'page[size]', in: 'query', schema: { type: 'string' } },
      { name: 'größe', in: 'query', schema: { type: 'string' } },
      { name: 'body', in: 'query', schema: { type: 'string' } },
      { name: 'request_body', in: 'query', schema: { type: 'string' } },
    ]
    const requestBody = { content: { 'text/plain': {} } }
    const file = await aDocument({
      '/{id}': { post: anOperation('send', { parameters, requestBody }) },
    })
    const { bridge, api } = await serveApi(file)

    const { tools } = await bridge.list()
    const { properties = {} } = tools[0]?.inputSchema ?? {}
    const names = Object.keys(properties)
    await bridge.call('send', Object.fromEntries(names.map((name, index) => [name, `v${index}`])))

    expect(names).toEqual([
      'id',
      'query_id',
      'query_id_2',
      'page_size',
      'gr_e',
      'body',
      'request_body',
      'body_request_body',
    ])
    expect(decodeURI(api.received[0]?.target ?? '')).toBe(
      '/v0?query_id=v1&id=v2&page[size]=v3&größe=v4&body=v5&request_body=v6',
    )
    expect(api.received[0]?.bytes.toString()).toBe('v7')
    expect(properties).toMatchObject({
      page_size: { description: 'Sent in the query as page[size].' },
      query_id_2: { description: 'Sent in the query as id.' },
    })
  })

  test.each([
    ['id', '..'],
    ['id', '.'],
    ['id', ''],
    ['X-Name', 'a\r\nX-Evil: 1'],
    ['X-Name', '名'],
  ])('is nothing if %s is %j, which would be another request', async (name, value) => {
    const file = await aDocument({
      '/things/{id}/secret': {
        get: anOperation('read', {
          parameters: [
            { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
            { name: 'X-Name', in: 'header', schema: { type: 'string' } },
          ],
        }),
      },
    })
    const { bridge, api } = await serveApi(file)

    const result = await bridge.call('read', { id: 'a', [name]: value })

    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/"(?:id|X-Name)"|part of the path/) }],
    })
    expect(api.received).toEqual([])
  })

  test('keeps a value in its place: no path, parameter, header or part is added by it', async () => {
    const evil = '../../admin?x=1&y=2#z\r\nX: 1\r\n\r\n--drawbridge'
    const inPath = evil.replaceAll('..', 'a')
    const file = await aDocument({
      '/a/{id}/b': {
        post: anOperation('send', {
          parameters: [
            { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
            { name: 'q', in: 'query', allowReserved: true, schema: { type: 'string' } },
            { name: 'c', in: 'cookie', schema: { type: 'string' } },
          ],
          requestBody: {
            content: {
              'multipart/form-data': {
                schema: { type: 'object', properties: { f: { type: 'string', format: 'binary' } } },
              },
            },
          },
        }),
      },
    })
    const { bridge, api } = await serveApi(file)

    const filename = 'a"; name="g\r\nX: y'
    const result = await bridge.call('send', {
      id: inPath,
      q: evil,
      c: `${evil};d=1`,
      body: { f: { text: evil, filename, mediaType: 'text/plain\r\nX: y' } },
    })

    expect(result.isError).toBeUndefined()
    const [received] = api.received
    expect(received?.problems).toEqual([])
    expect(received?.parameters.map(({ readings }) => readings[0])).toEqual([
      inPath,
      evil,
      `${evil};d=1`,
    ])
    expect(received?.body).toMatchObject({
      parts: [
        { name: 'f', filename, contentType: 'application/octet-stream', bytes: Buffer.from(evil) },
      ],
    })
  })

  test.each(['a', 'abcde', '####', 'ab=c'])(
    'is nothing if the base64 %j is not valid',
    async (data) => {
      const body = { requestBody: { content: { 'application/octet-stream': {} } } }
      const { bridge, api } = await serveApi(
        await aDocument({ '/f': { put: anOperation('put', body) } }),
      )

      const result = await bridge.call('put', { body: { data } })

      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('valid base64') }],
      })
      expect(api.received).toEqual([])
    },
  )

  test('has the dots of values apart from those between them', async () => {
    const style = {
      style: 'label',
      explode: true,
      schema: { type: ['array', 'object'], items: {} },
    }
    const parameters = [{ name: 'value', in: 'path', required: true, ...style }]
    const file = await aDocument({ '/{value}': { get: anOperation('read', { parameters }) } })
    const { bridge, api } = await serveApi(file)

    await bridge.call('read', { value: ['1.5', 'a.b'] })
    await bridge.call('read', { value: { 'a.b': 'c.d', e: 'f' } })

    expect(api.received.map(({ target }) => target)).toEqual(['/.1%2E5.a%2Eb', '/.a%2Eb=c%2Ed.e=f'])
  })

  test('has parts of a form in their types: text, JSON and files', async () => {
    const schema = {
      type: 'object',
      properties: {
        text: { type: 'string' },
        object: { type: 'object' },
        file: { type: 'string', contentMediaType: 'image/png' },
        files: { type: 'array', items: { type: 'string', format: 'binary' } },
      },
    }
    const content = {
      'multipart/form-data': { schema, encoding: { file: { contentType: 'image/png' } } },
    }
    const file = await aDocument({
      '/form': { post: anOperation('send', { requestBody: { content } }) },
    })
    const { bridge, api } = await serveApi(file)

    const files = [{ text: 'a', filename: 'a.txt', mediaType: 'text/plain' }, { data: 'Af8=' }]
    await bridge.call('send', {
      body: { text: 'x', object: { a: 1 }, file: { data: 'AA==' }, files },
    })

    expect(api.received[0]?.body).toEqual({
      kind: 'multipart',
      parts: [
        { name: 'text', bytes: Buffer.from('x') },
        { name: 'object', contentType: 'application/json', bytes: Buffer.from('{"a":1}') },
        { name: 'file', filename: 'file', contentType: 'image/png', bytes: Buffer.from([0]) },
        { name: 'files', filename: 'a.txt', contentType: 'text/plain', bytes: Buffer.from('a') },
        {
          name: 'files',
          filename: 'files',
          contentType: 'application/octet-stream',
          bytes: Buffer.from([1, 255]),
        },
      ],
    })
  })
})

describe('a request cannot be changed by an argument', () => {
  const text = { type: 'string' }
  const free = { type: 'object', additionalProperties: text }

  test.each(['query', 'cookie'])('whose keys in the %s are names of parameters', async (place) => {
    const parameters = [
      { name: 'tenant', in: place, schema: text },
      { name: 'filter', in: place, schema: free },
    ]
    const file = await aDocument({ '/things': { get: anOperation('read', { parameters }) } })
    const { bridge, api } = await serveApi(file)

    const refused = await bridge.call('read', { tenant: 'me', filter: { tenant: 'other' } })
    const sent = await bridge.call('read', { tenant: 'me', filter: { name: 'x' } })

    expect(refused).toMatchObject({ isError: true })
    expect(JSON.stringify(refused.content)).toContain('name of another parameter')
    expect(sent.isError).toBeUndefined()
    expect(api.received).toHaveLength(1)
  })

  test.each<[unknown, object]>([
    ['../admin', {}],
    ['..\\admin', {}],
    ['a/../../admin', {}],
    ['a/.', {}],
    ['%2e%2e%2fadmin', {}],
    ['../admin', { style: 'matrix' }],
    [['x', '../admin'], {}],
    [{ a: '../admin' }, { style: 'label', explode: true }],
  ])('whose path value is %j %j', async (value, format) => {
    const parameters = [{ name: 'id', in: 'path', required: true, schema: {}, ...format }]
    const file = await aDocument({ '/u/{id}': { get: anOperation('read', { parameters }) } })
    const { bridge, api } = await serveApi(file)

    const result = await bridge.call('read', { id: value })

    expect(result).toMatchObject({ isError: true })
    expect(JSON.stringify(result.content)).toContain('must not be')
    expect(api.received).toEqual([])
  })

  test('whose path value has dots that are no segment', async () => {
    const parameters = [{ name: 'id', in: 'path', required: true, schema: text }]
    const file = await aDocument({ '/u/{id}': { get: anOperation('read', { parameters }) } })
    const { bridge, api } = await serveApi(file)

    await bridge.call('read', { id: 'a/v1..v2/...' })

    expect(api.received[0]?.target).toBe('/u/a%2Fv1..v2%2F...')
  })

  test('that is a header of the connection or of another method', async () => {
    const names = [
      'Accept-Encoding',
      'X-HTTP-Method-Override',
      'X-HTTP-Method',
      'X-Method-Override',
    ]
    const parameters = names.map((name) => ({ name, in: 'header', schema: text }))
    const file = await aDocument({ '/things': { post: anOperation('write', { parameters }) } })
    const { bridge } = await serveApi(file)

    const { tools } = await bridge.list()

    expect(tools[0]?.inputSchema.properties).toEqual({})
    expect(bridge.diagnostics.map(({ code }) => code)).toEqual(names.map(() => 'openapi_inexact'))
  })
})

test('an idempotency key that a read requires is sent', async () => {
  const parameters = [
    { name: 'Idempotency-Key', in: 'header', required: true, schema: { type: 'string' } },
  ]
  const file = await aDocument({ '/things': { get: anOperation('read', { parameters }) } })
  const { bridge, api } = await serveApi(file)

  await bridge.call('read', {})

  expect(api.received[0]?.headers['idempotency-key']).toMatch(/./)
})

describe('an integer beyond 2^53', () => {
  const id = '12345678901234567890'
  const int64 = { type: 'integer', format: 'int64' }
  const serveItems = async () => {
    const schema = {
      type: 'object',
      properties: {
        id: int64,
        parent: ref('Id'),
        name: { type: 'string' },
        either: { anyOf: [{ type: 'string' }, int64] },
        list: { type: 'array', items: { type: ['integer', 'null'], format: 'uint64' } },
        more: { additionalProperties: int64 },
      },
    }
    const parameters = [
      { name: 'id', in: 'path', required: true, schema: int64 },
      { name: 'since', in: 'query', schema: ref('Id') },
      { name: 'ids', in: 'query', schema: { type: 'array', items: int64 } },
      { name: 'limit', in: 'query', schema: { type: 'integer', format: 'int64', maximum: 100 } },
      { name: 'factor', in: 'query', schema: { type: 'number' } },
      { name: 'X-Short', in: 'header', schema: { type: 'integer', format: 'int32' } },
    ]
    const requestBody = json(schema)
    return serveApi(
      await aDocument(
        { '/items/{id}': { post: anOperation('save', { parameters, requestBody }) } },
        { components: { schemas: { Id: int64 } } },
      ),
    )
  }

  test('is a text of digits, as in answers, and sent as the number', async () => {
    const { bridge, api } = await serveItems()
    const body = {
      id,
      parent: `-${id}`,
      name: id,
      either: id,
      list: [id, null, 1],
      more: { '9007199254740993': '9007199254740993' },
    }

    const result = await bridge.call('save', { id, since: id, ids: [1, id], factor: 1e20, body })

    expect(result).not.toHaveProperty('isError')
    expect(api.received[0]?.target).toBe(
      `/items/${id}?since=${id}&ids=1&ids=${id}&factor=100000000000000000000`,
    )
    expect(api.received[0]?.bytes.toString()).toBe(
      `{"id":${id},"parent":-${id},"name":"${id}","either":"${id}","list":[${id},null,1],"more":{"9007199254740993":9007199254740993}}`,
    )
  })

  test.each<[string, object]>([
    ['id', { id: 2 ** 53 }],
    ['since', { id: 1, since: -(2 ** 53) }],
    ['ids', { id: 1, ids: [1, 2 ** 60] }],
    ['body', { id: 1, body: { parent: 2 ** 53 } }],
    ['body', { id: 1, body: { list: [2 ** 53] } }],
  ])('is refused in %s as a number, which may have been rounded: %j', async (name, input) => {
    const { bridge, api } = await serveItems()

    const result = await bridge.call('save', input)

    expect(result).toMatchObject({
      isError: true,
      content: [
        { text: expect.stringMatching(new RegExp(`"${name}" .*send its digits as a text`)) },
      ],
    })
    expect(api.received).toEqual([])
  })

  test.each(['12', '01234567890123456', '1e20', `${id}.5`])(
    'is no other text: %s',
    async (text) => {
      const { bridge, api } = await serveItems()

      expect(await bridge.call('save', { id: text })).toHaveProperty('isError')
      expect(await bridge.call('save', { id: 1, limit: text })).toHaveProperty('isError')
      expect(await bridge.call('save', { id: 1, body: { id: text } })).toHaveProperty('isError')
      expect(api.received).toEqual([])
    },
  )

  test('is no text where the document has a smaller maximum or format', async () => {
    const { bridge } = await serveItems()

    expect((await bridge.list()).tools[0]?.inputSchema.properties).toMatchObject({
      limit: { type: 'integer' },
      'X-Short': { type: 'integer' },
    })
    expect(await bridge.call('save', { id: 1, 'X-Short': 2 ** 53 })).toHaveProperty('isError')
  })
})
