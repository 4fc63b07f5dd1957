import { createHash } from 'node:crypto'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import http, { type RequestOptions } from 'node:http'
import https from 'node:https'
import path from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { stringify } from 'yaml'
import { openApiSource } from '../../src/index.ts'
import type { OpenApiSourceOptions } from '../../src/runtime/open-openapi.ts'
import { aCanary, stubDns } from '../support/a-canary.ts'
import { aProject } from '../support/a-project.ts'
import { atMost } from '../support/amount.ts'
import { aDocument, anOperation, serveApi } from '../support/api/an-api.ts'
import type { Fields } from '../support/api/api-document.ts'
import { serveHere } from '../support/serve-here.ts'

const server = 'http://127.0.0.1:9'

async function load(file: string, options: OpenApiSourceOptions = { server }) {
  const { bridge } = await serveHere({ sources: [openApiSource(file, { id: 'api', ...options })] })
  const { tools } = await bridge.list()
  return {
    bridge,
    tools,
    names: tools.map(({ name }) => name),
    diagnostics: bridge.diagnostics,
    errors: bridge.diagnostics.filter(({ severity }) => severity === 'error'),
  }
}

const query = (name: string, schema: unknown): Fields => ({ name, in: 'query', schema })
const withQuery = (schema: unknown): Fields =>
  anOperation('odd', { parameters: [query('q', schema)] })
const withBody = (schema: unknown, type = 'application/json'): Fields =>
  anOperation('odd', { requestBody: { content: { [type]: { schema } } } })

/** `P0` refers to `P1`, and so on. */
const aChain = (kind: string, end: Fields): Fields =>
  Object.fromEntries(
    Array.from({ length: 200 }, (_, index) => [
      `P${index}`,
      index === 199 ? end : { $ref: `#/components/${kind}/P${index + 1}` },
    ]),
  )

describe('a broken operation', () => {
  test.each<[string, Fields, RegExp]>([
    [
      'a missing reference',
      withQuery({ $ref: '#/components/schemas/Gone' }),
      /Gone does not exist/,
    ],
    [
      'a reference to itself',
      { ...anOperation('odd'), parameters: [{ $ref: '#/components/parameters/Loop' }] },
      /refers to itself/,
    ],
    [
      'a long chain of references',
      { ...anOperation('odd'), parameters: [{ $ref: '#/components/parameters/P0' }] },
      /P\d+ is behind 100 references/,
    ],
    [
      'a long chain of schemas',
      withQuery({ $ref: '#/components/schemas/P0' }),
      /P0 is behind 100 references/,
    ],
    [
      'a parameter without a name',
      anOperation('odd', { parameters: [{ in: 'query' }] }),
      /needs "name" and "in"/,
    ],
    [
      'a parameter in no known place',
      anOperation('odd', { parameters: [{ name: 'a', in: 'body' }] }),
      /are not supported/,
    ],
    [
      'more than 1000 parameters',
      anOperation('odd', {
        parameters: Array.from({ length: 1001 }, (_, index) => query(`q${index}`, {})),
      }),
      /can have 1000 parameters/,
    ],
    ['parameters that are no list', anOperation('odd', { parameters: {} }), /must be a list/],
    [
      'a header with an invalid name',
      anOperation('odd', { parameters: [{ name: 'a\r\nX: y', in: 'header' }] }),
      /not a valid name of a header/,
    ],
    [
      'a parameter named __proto__',
      anOperation('odd', { parameters: [JSON.parse('{"name":"__proto__","in":"query"}')] }),
      /__proto__/,
    ],
    [
      'a security scheme that is not declared',
      anOperation('odd', { security: [{ gone: [] }] }),
      /has no scheme gone/,
    ],
    [
      'a required body without a media type',
      anOperation('odd', { requestBody: { required: true, content: { nonsense: {} } } }),
      /is required, and has no valid media type/,
    ],
    ['security that is no list', anOperation('odd', { security: {} }), /security must be a list/],
    ['responses that are no mapping', { operationId: 'odd', responses: [] }, /must be a mapping/],
    ['an operation that is no mapping', 'text' as never, /must be a mapping/],
    [
      'an external reference to a parameter',
      anOperation('odd', { parameters: [{ $ref: 'https://x.example/p.yaml' }] }),
      /is not fetched/,
    ],
  ])(
    'with %s is named with its place, and its neighbours are served',
    async (_, operation, message) => {
      const file = await aDocument(
        { '/good': { get: anOperation('good') }, '/odd': { get: operation } },
        {
          components: {
            parameters: {
              Loop: { $ref: '#/components/parameters/Loop' },
              ...aChain('parameters', { name: 'p', in: 'query' }),
            },
            schemas: aChain('schemas', { type: 'string' }),
          },
        },
      )

      const { names, errors } = await load(file)

      expect(names).toEqual(['good'])
      expect(errors.map((one) => one.message).join()).toMatch(message)
      expect(errors[0]?.at).toMatch(/api\.yaml:\d+:\d+$/)
    },
  )

  test.each([
    ['/a/../b', /segment "\." or "\.\."/],
    ['/a/%2e%2e/b', /segment "\." or "\.\."/],
    ['/a\\b', /has a backslash/],
  ])('with the path %s is named', async (route, message) => {
    const file = await aDocument({
      '/good': { get: anOperation('good') },
      [route]: { get: anOperation('odd') },
    })

    const { names, errors } = await load(file)

    expect(names).toEqual(['good'])
    expect(errors.map((one) => one.message)).toEqual([expect.stringMatching(message)])
  })

  test('with line breaks in its id is named in one line', async () => {
    const file = await aDocument({
      '/odd': { get: { ...anOperation('a\nb\u001b'), security: {} } },
    })

    const { errors } = await load(file)

    expect(errors.map((one) => one.message)).toEqual([
      expect.stringContaining('a\\nb\\u001b is not served'),
    ])
  })

  test.each<[string, Fields]>([
    ['an unknown type', withQuery({ type: 'file' })],
    ['a pattern that is none', withQuery({ type: 'string', pattern: '(' })],
    ['a pattern that takes exponential time', withQuery({ type: 'string', pattern: '^(?=a)\\1' })],
    ['a limit that is a text', withQuery({ type: 'integer', minimum: '1' })],
    ['a schema that is a list', withQuery([])],
    ['an external schema', withQuery({ $ref: 'https://x.example/s.yaml#/A' })],
    ['required: true', withBody({ type: 'object', required: true })],
    [
      'a style of another place',
      anOperation('odd', { parameters: [{ name: 'q', in: 'query', style: 'matrix' }] }),
    ],
    ['a body without a media type', anOperation('odd', { requestBody: { content: {} } })],
    ['a media type with a line break', withBody({}, 'text/plain\r\nX: y')],
  ])('with %s is served, and a remark says what is not as declared', async (_, operation) => {
    const { names, diagnostics } = await load(await aDocument({ '/odd': { post: operation } }))

    expect(names).toEqual(['odd'])
    expect(diagnostics).toMatchObject([{ code: 'openapi_inexact', severity: 'warning' }])
  })
})

describe('a document', () => {
  test.each<[string, string, RegExp]>([
    ['that is empty', '', /not an OpenAPI document/],
    ['that is a list', '[]', /not an OpenAPI document/],
    ['without a version', 'paths: {}', /"openapi" is missing/],
    ['of another version', 'openapi: 4.0.0', /not "4\.0\.0"/],
    ['with a syntax error', 'openapi: 3.1.0\npaths: {', /./],
    ['in broken JSON', '{"openapi": "3.1.0",', /./],
    [
      'with an alias bomb',
      `a: &a [x,x]\n${[...'bcdefghijkl'].map((one, index) => `${one}: &${one} [${`*${'abcdefghijkl'[index]},`.repeat(9)}]`).join('\n')}\nopenapi: 3.1.0`,
      /alias/i,
    ],
    [
      'nested 5,000 levels deep',
      `{"openapi":"3.1.0","x":${'['.repeat(5000)}${']'.repeat(5000)}}`,
      /nested deeper/,
    ],
  ])('%s is an error with its file, and nothing else fails', async (_, text, message) => {
    const folder = await aProject({ 'api.yaml': text })
    const good = await aDocument({ '/good': { get: anOperation('good') } })

    const { bridge } = await serveHere({
      sources: [openApiSource(`${folder}/api.yaml`, { server }), openApiSource(good, { server })],
    })

    expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['good'])
    expect(bridge.diagnostics).toMatchObject([
      {
        severity: 'error',
        message: expect.stringMatching(message),
        at: expect.stringContaining('api.yaml'),
      },
    ])
  })

  test('with schemas that contain themselves is served, and validates', async () => {
    const node = {
      type: 'object',
      properties: { child: { $ref: '#/components/schemas/Node' }, n: { type: 'integer' } },
    }
    const file = await aDocument(
      { '/tree': { post: withBody({ $ref: '#/components/schemas/Node' }) } },
      { components: { schemas: { Node: node } } },
    )
    const { bridge, api } = await serveApi(file)

    await bridge.call('odd', { body: { child: { child: { n: 1 } } } })
    const refused = await bridge.call('odd', { body: { child: { child: { n: 'one' } } } })

    expect(refused.isError).toBe(true)
    expect(api.received).toHaveLength(1)
  })

  test('whose forms with files consist of themselves is left out with the reason', async () => {
    const schemas = {
      Form: {
        type: 'object',
        properties: { file: { type: 'string', format: 'binary' } },
        anyOf: [{ $ref: '#/components/schemas/Form' }, { type: 'object' }],
      },
    }
    const file = await aDocument(
      { '/form': { post: withBody({ $ref: '#/components/schemas/Form' }, 'multipart/form-data') } },
      { components: { schemas } },
    )
    const { names, diagnostics } = await load(file)

    expect(names).toEqual([])
    expect(diagnostics.map(({ message }) => message).join()).toMatch(/odd is not served.*\$ref/)
  })

  test('whose forms refer to each other a million times is read at once', async () => {
    const names = [...'abcdefghijklmnopqrst']
    const schemas = Object.fromEntries(
      names.map((name, index) => {
        const next = { $ref: `#/components/schemas/${names[index + 1] ?? 'end'}` }
        return [name, { allOf: [next, next, next] }]
      }),
    )
    const end = { type: 'object', properties: { f: { type: 'string', format: 'binary' } } }
    const file = await aDocument(
      { '/form': { post: withBody({ $ref: '#/components/schemas/a' }, 'multipart/form-data') } },
      { components: { schemas: { ...schemas, end } } },
    )
    const start = performance.now()

    const { names: served } = await load(file)

    expect(served).toEqual(['odd'])
    expect(performance.now() - start).toBeLessThan(atMost(1000))
  })

  test('that repeats a long id is read at once', async () => {
    const id = 'a'.repeat(200_000)
    const file = await aDocument({ '/a': { get: anOperation(id), put: anOperation(id) } })
    const startMs = performance.now()

    const { names } = await load(file)

    expect(names).toEqual(['get_a', 'put_a'])
    expect(performance.now() - startMs).toBeLessThan(atMost(1500))
  })

  test('whose parameters all get the same name is read at once', async () => {
    const parameters = Array.from({ length: 1000 }, (_, index) =>
      query(`q${String.fromCodePoint(0x4e00 + index)}`, {}),
    )
    const file = await aDocument({ '/odd': { get: anOperation('odd', { parameters }) } })
    const startMs = performance.now()

    const { tools } = await load(file)

    expect(Object.keys(tools[0]?.inputSchema.properties ?? {}).at(-1)).toBe('query_q_999')
    expect(performance.now() - startMs).toBeLessThan(atMost(1500))
  })

  test('whose operations share schemas reports what is wrong with those once', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `S${index}`)
    const schemas = Object.fromEntries(
      names.map((name, index) => [
        name,
        {
          properties: { a: { type: 'odd' }, next: { $ref: `#/components/schemas/S${index + 1}` } },
        },
      ]),
    )
    const paths = Object.fromEntries(
      names.map((name) => [
        `/${name}`,
        { get: { ...withQuery({ $ref: '#/components/schemas/S0' }), operationId: name } },
      ]),
    )
    const file = await aDocument(paths, { components: { schemas: { ...schemas, S100: {} } } })
    const startMs = performance.now()

    const { tools, diagnostics } = await load(file)

    expect(tools).toHaveLength(100)
    expect(JSON.stringify(diagnostics)).toContain('is not a JSON Schema type')
    expect(performance.now() - startMs).toBeLessThan(atMost(2000))
  })

  test('whose schemas are too large together is served in part, and check recommends include', async () => {
    const description = 'x'.repeat(4 * 1024 * 1024)
    const paths = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `/${index}`,
        { get: { ...withQuery({ $ref: '#/components/schemas/Big' }), operationId: `op${index}` } },
      ]),
    )
    const file = await aDocument(paths, { components: { schemas: { Big: { description } } } })

    const { diagnostics } = await load(file)

    expect(diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'openapi_too_large',
        severity: 'error',
        message: expect.stringMatching(
          /^5 operations, such as op15, cannot be served: .*"include"/,
        ),
      }),
    )
  })

  test('whose schemas form a long chain is served', async () => {
    const count = 20_000
    const schemas = Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `S${index}`,
        { type: 'object', properties: { next: { $ref: `#/components/schemas/S${index + 1}` } } },
      ]),
    )
    const text = JSON.stringify({
      openapi: '3.1.0',
      paths: {
        '/chain': { post: withBody({ $ref: '#/components/schemas/S0' }) },
        '/good': { get: anOperation('good') },
      },
      components: { schemas: { ...schemas, [`S${count}`]: { type: 'string' } } },
    })

    const { names } = await load(`${await aProject({ 'api.json': text })}/api.json`)

    expect(names).toContain('good')
  })

  test('with names from Object.prototype keeps to its own', async () => {
    const text = `{"openapi":"3.1.0","paths":{"/x":{"post":{"operationId":"odd","responses":{},
      "requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":
      {"__proto__":{"type":"integer"},"toString":{"type":"string"},"hasOwnProperty":{"type":"string"}}}}}}}}}}`
    const { bridge, api } = await serveApi(`${await aProject({ 'api.json': text })}/api.json`)
    const [tool] = (await bridge.list()).tools

    await bridge.call(tool?.name ?? '', { body: { toString: 'a', hasOwnProperty: 'b' } })

    expect(api.received[0]?.bytes.toString()).toBe('{"toString":"a","hasOwnProperty":"b"}')
    expect(Object.prototype).not.toHaveProperty('type')
  })
})

describe('the server', () => {
  const read = { '/x': { get: anOperation('read') } }
  const endpointOf = async (rest: Fields, options: OpenApiSourceOptions = {}) => {
    const { bridge, errors } = await load(await aDocument(read, rest), options)
    const explained = errors.length === 0 ? await bridge.explain('read', {}) : undefined
    return { text: JSON.stringify(explained), errors: errors.map(({ message }) => message).join() }
  }
  const templated = {
    servers: [
      {
        url: 'https://{region}.x.example/{v}',
        variables: { region: { default: 'eu', enum: ['eu', 'us'] }, v: { default: 'v1' } },
      },
    ],
  }

  test.each<[string, Fields, OpenApiSourceOptions, string]>([
    ['variables with their defaults', templated, {}, 'https://eu.x.example/v1'],
    [
      'variables of the operator',
      templated,
      { variables: { region: 'us' } },
      'https://us.x.example/v1',
    ],
    [
      'the operator',
      { servers: [{ url: '/v1' }] },
      { server: 'https://y.example/v2/' },
      'https://y.example/v2',
    ],
    [
      'https, of the schemes of Swagger 2.0',
      { openapi: undefined, swagger: '2.0', host: 'y.example', schemes: ['http', 'https'] },
      {},
      'https://y.example',
    ],
  ])('comes from %s', async (_, rest, options, expected) => {
    expect((await endpointOf(rest, options)).text).toContain(expected)
  })

  test.each<[string, Fields, OpenApiSourceOptions, string]>([
    ['that is missing', {}, {}, 'names no server'],
    ['that is relative in a file', { servers: [{ url: '/v1' }] }, {}, 'is relative'],
    [
      'with a value that is not allowed',
      templated,
      { variables: { region: 'cn' } },
      'cannot be "cn"',
    ],
    [
      'with a variable that nobody sets',
      { servers: [{ url: 'https://{x}.example' }] },
      {},
      'has no default',
    ],
    ['of another protocol', { servers: [{ url: 'ftp://x.example' }] }, {}, 'http: or https:'],
    [
      'with a password',
      { servers: [{ url: 'https://a:b@x.example' }] },
      {},
      'must not contain a user',
    ],
  ])('%s is an error', async (_, rest, options, message) => {
    expect((await endpointOf(rest, options)).errors).toContain(message)
  })

  test('without a variable that the operator sets is a warning', async () => {
    const file = await aDocument(read, templated)

    const { diagnostics } = await load(file, { variables: { region: 'us', regoin: 'eu' } })

    expect(diagnostics).toEqual([
      expect.objectContaining({
        severity: 'warning',
        message: 'variables: no server of the document has {regoin}.',
      }),
    ])
  })

  test('that egress refuses is not connected to, and check says so', async () => {
    const canary = await aCanary()
    const file = await aDocument(read)
    const { bridge } = await serveHere({
      sources: [openApiSource(file, { server: `http://127.0.0.1:${canary.port}` })],
      policy: { egress: { allow: ['api.example.com'] } },
    })
    await bridge.list()

    expect(await bridge.call('read', {})).toMatchObject({ isError: true })
    expect(bridge.audit.at(-1)).toMatchObject({ code: 'egress_refused' })
    expect(bridge.diagnostics).toContainEqual(expect.objectContaining({ code: 'egress_refused' }))
    expect(canary.connections).toEqual([])
  })
})

describe('a document of several files', () => {
  const main = (reference: string) =>
    stringify({
      openapi: '3.1.0',
      info: { title: 'x', version: '1' },
      paths: {
        '/good': { get: anOperation('good') },
        '/odd': { get: withQuery({ $ref: reference }) },
      },
    })

  test.each([
    ['a folder above', '../outside.yaml'],
    ['an absolute path', '/etc/hostname'],
    ['a link to a file outside', 'link.yaml'],
  ])('reads nothing in %s', async (_, reference) => {
    const folder = await aProject({
      'docs/api.yaml': main(reference),
      'outside.yaml': 'type: string # CANARY',
    })
    await symlink(path.join(folder, 'outside.yaml'), path.join(folder, 'docs/link.yaml'))

    const { errors, tools } = await load(`${folder}/docs/api.yaml`)

    expect(errors[0]?.message).toMatch(/outside of the folder/)
    expect(JSON.stringify(tools)).not.toContain('CANARY')
  })

  test.each([
    ['does not exist', 'gone.yaml', /gone\.yaml does not exist/],
    ['is broken', 'broken.yaml', /broken\.yaml:1:\d+/],
    ['is encoded as UTF-16', 'utf16.json', /utf16\.json is encoded as UTF-16/],
    ['is a folder', 'folder', /folder is a folder/],
  ])('with a file that %s names it', async (_, reference, message) => {
    const folder = await aProject({ 'api.yaml': main(reference), 'broken.yaml': 'a: [' })
    await writeFile(`${folder}/utf16.json`, Buffer.from('\ufeff{}', 'utf16le'))
    await mkdir(`${folder}/folder`)

    const { names, errors } = await load(`${folder}/api.yaml`)

    expect(names).toEqual(['good'])
    expect(errors).toHaveLength(1)
    expect(errors[0]?.message).toMatch(message)
  })

  test('names a part that is missing in a second file, and serves the rest', async () => {
    const folder = await aProject({
      'api.yaml': main('parts/second.json'),
      'parts/second.json': JSON.stringify({ properties: { a: { $ref: '#/gone' } } }),
    })

    const { names, errors } = await load(`${folder}/api.yaml`)

    expect(names).toEqual(['good'])
    expect(errors.map((one) => one.message).join()).toContain(
      'parts/second.json#/gone cannot be used: its file has no such part',
    )
  })

  test.each(['./x%zz.yaml#/a', 'file://elsewhere/x.yaml#/a', 'http://[x'])(
    'that refers to %s serves what does not need it',
    async (reference) => {
      const folder = await aProject({
        'api.yaml': main('parts/second.json'),
        'parts/second.json': JSON.stringify({ properties: { a: { $ref: reference } } }),
      })

      expect((await load(`${folder}/api.yaml`)).names).toContain('good')
    },
  )

  test('fetches no URL, and serves what does not need it', async () => {
    const canary = await aCanary()
    const folder = await aProject({
      'api.yaml': main(`http://127.0.0.1:${canary.port}/s.yaml`),
      'other.yaml': '{}',
    })

    const { names, diagnostics } = await load(`${folder}/api.yaml`)

    expect(names).toEqual(['good', 'odd'])
    expect(diagnostics).toMatchObject([
      { code: 'openapi_inexact', message: expect.stringContaining('is not fetched') },
    ])
    expect(canary.connections).toEqual([])
  })

  test('fetches no URL of a second file either', async () => {
    const canary = await aCanary()
    const second = stringify({
      type: 'object',
      properties: { a: { $ref: `http://127.0.0.1:${canary.port}/s.yaml` } },
    })
    const folder = await aProject({ 'api.yaml': main('second.yaml'), 'second.yaml': second })

    const { names, diagnostics } = await load(`${folder}/api.yaml`)

    expect(names).toEqual(['good', 'odd'])
    expect(diagnostics).toMatchObject([
      { code: 'openapi_inexact', message: expect.stringContaining('is not fetched') },
    ])
    expect(canary.connections).toEqual([])
  })
})

describe('a document at a URL', () => {
  const url = 'https://docs.example/api.yaml'

  /** Serves the fixture where the URL leads to, without TLS. */
  async function fetched(digest: string | undefined) {
    const text = await readFile('test/fixtures/openapi/everything-3.0.yaml', 'utf8')
    const canary = await aCanary(() => text)
    stubDns(() => ['93.184.216.34'])
    vi.spyOn(https, 'request').mockImplementation(((target: URL, { method }: RequestOptions) =>
      http.request(
        String(target).replace('https://docs.example', `http://127.0.0.1:${canary.port}`),
        {
          method,
        },
      )) as typeof https.request)
    const right = `sha256:${createHash('sha256').update(text).digest('hex')}`
    const pin = digest === 'right' ? right : digest
    const loaded = await load(url, pin === undefined ? {} : { digest: pin })
    return { ...loaded, right }
  }

  test('is served if its digest is as pinned', async () => {
    const { names, errors } = await fetched('right')

    expect(errors).toEqual([])
    expect(names).toEqual(['getItem', 'putItem', 'replaceContent', 'uploadItem'])
  })

  test.each([
    ['is missing', undefined, 'not pinned'],
    ['is another', `sha256:${'0'.repeat(64)}`, 'another hash'],
  ])(
    'is not served if its digest %s, and the message tells the digest',
    async (_, digest, message) => {
      const { names, diagnostics, right } = await fetched(digest)

      expect(names).toEqual([])
      expect(diagnostics).toMatchObject([
        { severity: 'error', message: expect.stringContaining(message) },
      ])
      expect(diagnostics[0]?.message).toContain(right)
    },
  )

  test('is not fetched without TLS', async () => {
    const canary = await aCanary()

    const { diagnostics } = await load(`http://127.0.0.1:${canary.port}/api.yaml`, {})

    expect(diagnostics).toMatchObject([
      { severity: 'error', message: expect.stringContaining('https') },
    ])
    expect(canary.connections).toEqual([])
  })
})

test('an optional body whose schema requires itself is served with a warning', async () => {
  const again = { $ref: '#/components/schemas/Again' }
  const schemas = { Again: { type: 'object', required: ['child'], properties: { child: again } } }
  const file = await aDocument(
    { '/things': { post: withBody(again) } },
    { components: { schemas } },
  )

  const { names, diagnostics } = await load(file)

  expect(names).toEqual(['odd'])
  expect(diagnostics).toMatchObject([
    {
      code: 'openapi_inexact',
      severity: 'warning',
      message: expect.stringMatching(/^odd: .*\/child requires itself again/),
    },
  ])
})
