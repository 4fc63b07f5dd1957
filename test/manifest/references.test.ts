import { createHash } from 'node:crypto'
import { rmSync, symlinkSync } from 'node:fs'
import http, {
  createServer,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createDrawbridge, manifestSource } from '../../src/index.ts'
import {
  aManifest,
  answering,
  type Fields,
  serveManifest,
  toolNames,
  toYaml,
} from '../support/a-manifest.ts'
import { aProject } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const json = (value: unknown) => JSON.stringify(value)
const money = { type: 'object', properties: { value: { type: 'number' } }, required: ['value'] }

/** A manifest with one capability that uses the reference and one without. */
const aReferringManifest = (uri: string, parts: Fields = {}) =>
  aManifest({ capabilities: [{ input_schema: { $ref_uri: uri }, ...parts }, { id: 'neighbour' }] })

interface LoadResult {
  readonly input: Fields | undefined
  readonly names: readonly string[]
  /** Diagnostics about references and schemas. */
  readonly referenceErrors: string
}

async function load(
  manifest: ReturnType<typeof aManifest>,
  files: Readonly<Record<string, string>>,
  schemas: Readonly<Record<string, string>> = {},
): Promise<LoadResult & { bridge: Awaited<ReturnType<typeof serveManifest>> }> {
  const bridge = await serveManifest(manifest, { handlers: answering(manifest), files, schemas })
  const { tools } = await bridge.list()
  const referenceErrors = bridge.diagnostics
    .filter(({ code }) => code === 'reference_unresolved' || code === 'schema_unusable')
    .map(({ pointer, message }) => `${pointer} ${message}`)
    .join('\n')
  const input = tools.find(({ name }) => name === 'look-up-order')?.inputSchema as
    | Fields
    | undefined
  return { bridge, input, names: tools.map(({ name }) => name), referenceErrors }
}

const schemaPointer = '/capabilities/0/input_schema'

describe('a reference to a file', () => {
  test('is resolved to the served schema, which validates calls [M16]', async () => {
    const { bridge, input } = await load(aReferringManifest('schemas/money.json'), {
      'schemas/money.json': json(money),
    })

    expect(input).toEqual(money)
    expect(await bridge.call('look-up-order', { value: 1 })).not.toHaveProperty('isError')
    expect(await bridge.call('look-up-order', { value: 'a' })).toMatchObject({ isError: true })
  })

  test('may be to YAML and may be percent-encoded', async () => {
    const { input } = await load(aReferringManifest('my%20schemas/money.yaml'), {
      'my schemas/money.yaml': toYaml(money),
    })

    expect(input).toEqual(money)
  })

  test('in a referenced file is bundled, relative to that file', async () => {
    const { bridge, input } = await load(aReferringManifest('schemas/order.json'), {
      'schemas/order.json': json({
        type: 'object',
        properties: { total: { $ref: 'parts/money.json' }, tax: { $ref: 'parts/money.json' } },
      }),
      'schemas/parts/money.json': json({
        ...money,
        properties: { value: { $ref: '../number.json' } },
      }),
      'schemas/number.json': json({ type: 'number', minimum: 1 }),
    })

    expect(JSON.stringify(input)).not.toMatch(/\.json/)
    const total = { properties: { value: { type: 'number', minimum: 1 } } }
    expect(input).toMatchObject({ properties: { total, tax: total } })
    const callWithValue = (value: unknown) =>
      bridge.call('look-up-order', { total: { value }, tax: { value: 5 } })
    expect(await callWithValue(1)).not.toHaveProperty('isError')
    expect(await callWithValue(0)).toMatchObject({ isError: true })
  })

  test('may have a JSON pointer fragment', async () => {
    const { bridge, input } = await load(aReferringManifest('all.json#/$defs/order'), {
      'all.json': json({
        $defs: {
          order: { type: 'object', properties: { total: { $ref: '#/$defs/money' } } },
          money,
        },
      }),
    })

    expect(input?.type).toBe('object')
    expect(await bridge.call('look-up-order', { total: {} })).toMatchObject({ isError: true })
    expect(await bridge.call('look-up-order', { total: { value: 1 } })).not.toHaveProperty(
      'isError',
    )
  })

  test('in a cycle is followed once', async () => {
    const { bridge, input } = await load(aReferringManifest('a.json'), {
      'a.json': json({
        type: 'object',
        properties: { b: { $ref: 'b.json' }, n: { type: 'number' } },
      }),
      'b.json': json({ type: 'object', properties: { a: { $ref: 'a.json' }, b: { $ref: '#' } } }),
    })

    expect(input).toBeDefined()
    const callWithN = (n: unknown) => bridge.call('look-up-order', { b: { b: { a: { n } } } })
    expect(await callWithN(1)).not.toHaveProperty('isError')
    expect(await callWithN('a')).toMatchObject({ isError: true })
  })

  test('gives byte-identical schemas on every load [M1]', async () => {
    const files = {
      'a.json': json({
        type: 'object',
        properties: { c: { $ref: 'c.json' }, b: { $ref: 'b.json' } },
      }),
      'b.json': json({ type: 'object', properties: { c: { $ref: 'c.json' } } }),
      'c.json': json({ type: 'string' }),
    }
    const [first, second] = [
      await load(aReferringManifest('a.json'), files),
      await load(aReferringManifest('a.json'), files),
    ]

    expect(json(await first.bridge.list())).toBe(json(await second.bridge.list()))
  })

  test('keeps existing $defs, even if their names collide with bundled ones', async () => {
    const schema = {
      type: 'object',
      properties: { own: { $ref: '#/$defs/document_1' }, other: { $ref: 'other.json' } },
      $defs: { document_1: { type: 'string' } },
    }
    const { bridge } = await load(aReferringManifest('x.json', { input_schema: schema }), {
      'other.json': json({ type: 'number' }),
    })

    expect(await bridge.call('look-up-order', { own: 'text', other: 1 })).not.toHaveProperty(
      'isError',
    )
    expect(await bridge.call('look-up-order', { own: 5, other: 1 })).toMatchObject({
      isError: true,
    })
  })

  test('keeps properties named $id and $schema', async () => {
    const properties = { $id: { type: 'string' }, $schema: { type: 'string' } }
    const { input } = await load(aReferringManifest('a.json'), {
      'a.json': json({ $id: 'https://a.example/a', type: 'object', properties }),
    })

    expect(input?.properties).toEqual(properties)
  })

  test('is not looked for in default values', async () => {
    const schema = {
      type: 'object',
      properties: { pointer: { type: 'object', default: { $ref: 'no-such-file.json' } } },
    }
    const { names } = await load(aReferringManifest('a.json', { input_schema: schema }), {})

    expect(names).toContain('look-up-order')
  })

  test('works for output schemas', async () => {
    const manifest = aManifest({ capabilities: [{ output_schema: { $ref_uri: 'money.json' } }] })
    const { bridge } = await load(manifest, { 'money.json': json(money) })

    expect((await bridge.list()).tools[0]?.outputSchema).toEqual(money)
  })
})

describe('an unresolvable reference omits only its tool:', () => {
  const chain = (length: number) =>
    Object.fromEntries(
      Array.from({ length }, (_, index) => [
        `${index}.json`,
        json({ type: 'object', properties: { next: { $ref: `${index + 1}.json` } } }),
      ]),
    )
  const aNestedSchema = (depth: number): Fields => {
    let schema: Fields = { type: 'string' }
    for (let level = 0; level < depth; level++)
      schema = { type: 'object', properties: { a: schema } }
    return schema
  }

  test.each<[string, string, Record<string, string>, RegExp]>([
    ['to a missing file', 'gone.json', {}, /does not exist/],
    ['out of the folder with ../', '../../../../../../etc/passwd', {}, /outside/],
    [
      'out of the folder, percent-encoded',
      '%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd',
      {},
      /outside|no such/,
    ],
    ['out of the folder, absolute path', '/etc/passwd', {}, /outside/],
    ['to a file: URL', 'file:///etc/passwd', {}, /only files and https/],
    ['to plain http', 'http://127.0.0.1:9/a.json', {}, /only files and https/],
    ['to a data: URL', 'data:application/json,1', {}, /only files and https|cannot be read/],
    ['to invalid JSON', 'a.json', { 'a.json': '{"type": ' }, /a\.json:1:/],
    ['to a JSON array', 'a.json', { 'a.json': '[1]' }, /not a JSON Schema object/],
    [
      'to a schema that is not of type object',
      'a.json',
      { 'a.json': json({ type: 'string' }) },
      /"type": "object"/,
    ],
    ['to a folder', 'sub', { 'sub/a.json': '{}' }, /cannot be read/],
    [
      'to a file that is too large',
      'a.json',
      { 'a.json': json({ ...money, x: 'x'.repeat(300_000) }) },
      /larger/,
    ],
    [
      'to a schema that is nested too deeply',
      'a.json',
      { 'a.json': json(aNestedSchema(100)) },
      /deeper/,
    ],
    ['through too many documents', '0.json', chain(200), /more than 32 documents/],
    ['to an anchor', 'a.json#money', { 'a.json': json(money) }, /anchor/],
    ['with an invalid percent-encoding', '%E0%A4%A', {}, /cannot be read/],
    [
      'to a schema with a reference out of the folder',
      'a.json',
      { 'a.json': json({ type: 'object', properties: { a: { $ref: '../../../../etc/hosts' } } }) },
      /outside|no such/,
    ],
    [
      'to a schema with an unlisted https reference',
      'a.json',
      { 'a.json': json({ type: 'object', properties: { a: { $ref: 'https://a.example/x' } } }) },
      /not listed/,
    ],
    [
      'with a dangling JSON pointer',
      'a.json#/$defs/none',
      { 'a.json': json(money) },
      /points to nothing/,
    ],
  ])('%s', async (_, uri, files, messagePattern) => {
    const { names, referenceErrors } = await load(aReferringManifest(uri), files)

    expect(names).toEqual(['neighbour'])
    expect(referenceErrors).toContain(schemaPointer)
    expect(referenceErrors).toMatch(messagePattern)
    expect(referenceErrors).not.toContain('root:')
  })

  test.each([
    ['to a symlink out of the folder', '/etc/passwd'],
    ['to a symlink to itself', 'link.json'],
  ])('%s', async (_, target) => {
    const manifest = aReferringManifest('link.json')
    const folder = await aProject({ 'agent.yaml': toYaml(manifest) })
    symlinkSync(target, path.join(folder, 'link.json'))
    const source = manifestSource(path.join(folder, 'agent.yaml'), {
      handlers: answering(manifest),
    })
    const bridge = createDrawbridge({ sources: [source] })
    onTestFinished(() => bridge.close(0))
    await bridge.ready

    expect(await toolNames(bridge)).toEqual(['neighbour'])
    expect(bridge.diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'reference_unresolved',
        severity: 'error',
        pointer: schemaPointer,
      }),
    )
  })

  test('except that a symlink inside the folder is followed', async () => {
    const manifest = aReferringManifest('link.json')
    const folder = await aProject({ 'agent.yaml': toYaml(manifest), 'a.json': json(money) })
    symlinkSync('a.json', path.join(folder, 'link.json'))
    const source = manifestSource(path.join(folder, 'agent.yaml'), {
      handlers: answering(manifest),
    })
    const bridge = createDrawbridge({ sources: [source] })
    onTestFinished(() => bridge.close(0))
    await bridge.ready

    expect(await toolNames(bridge)).toEqual(['look-up-order', 'neighbour'])
  })

  test('a secret in a referenced file is neither served nor printed [M24]', async () => {
    const secret = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'
    const { bridge, names } = await load(aReferringManifest('a.json'), {
      'a.json': json({ type: 'object', properties: { a: { type: 'string', default: secret } } }),
    })

    expect(json([await bridge.list(), bridge.diagnostics])).not.toContain(secret)
    expect(names).toEqual(['neighbour'])
  })
})

describe('a reference to an https URL', () => {
  const address = 'https://schemas.example/money.json'
  const body = json(money)
  const pin = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

  afterEach(() => vi.restoreAllMocks())

  /** Redirects the schema host to a local server; over plain HTTP, because a test has no certificate for it. */
  async function serveSchemas(
    respond: (request: IncomingMessage, response: ServerResponse) => void,
  ) {
    const requestPaths: string[] = []
    const server = createServer((request, response) => {
      requestPaths.push(request.url ?? '')
      respond(request, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    const localUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    vi.spyOn(https, 'request').mockImplementation(((url: URL, { method }: RequestOptions) =>
      http.request(String(url).replace('https://schemas.example', localUrl), {
        method,
      })) as typeof https.request)
    return requestPaths
  }

  test('that is pinned with the right hash is fetched once, at load', async () => {
    const requestPaths = await serveSchemas((_, response) => response.end(body))
    const { bridge, input } = await load(aReferringManifest(address), {}, { [address]: pin(body) })

    await bridge.list()
    await bridge.call('look-up-order', { value: 1 })
    await bridge.call('look-up-order', { value: 'https://schemas.example/other.json' })

    expect(input).toEqual(money)
    expect(requestPaths).toEqual(['/money.json'])
  })

  test('in a fetched schema needs its own pin', async () => {
    const order = json({ type: 'object', properties: { total: { $ref: 'money.json' } } })
    const requestPaths = await serveSchemas(({ url }, response) =>
      response.end(url === '/order.json' ? order : body),
    )
    const orderUrl = 'https://schemas.example/order.json'

    const withOnePin = await load(aReferringManifest(orderUrl), {}, { [orderUrl]: pin(order) })
    expect(withOnePin.names).toEqual(['neighbour'])
    expect(requestPaths).toEqual(['/order.json'])
    const withBothPins = await load(
      aReferringManifest(orderUrl),
      {},
      { [orderUrl]: pin(order), [address]: pin(body) },
    )
    expect(withBothPins.names).toContain('look-up-order')
  })

  test('cannot lead to a schema that refers to local files', async () => {
    const order = json({ type: 'object', properties: { a: { $ref: 'file:///etc/passwd' } } })
    await serveSchemas((_, response) => response.end(order))
    const { names } = await load(aReferringManifest(address), {}, { [address]: pin(order) })

    expect(names).toEqual(['neighbour'])
  })

  test.each<[string, Record<string, string>, (response: ServerResponse) => void, RegExp, number]>([
    ['is not pinned', {}, (response) => response.end(body), /not listed/, 0],
    [
      'is pinned with another hash',
      { [address]: pin('other') },
      (response) => response.end(body),
      /another hash/,
      1,
    ],
    [
      'redirects',
      { [address]: pin(body) },
      (response) => response.writeHead(302, { location: '/elsewhere.json' }).end(),
      /cannot be read/,
      1,
    ],
    [
      'is not found',
      { [address]: pin(body) },
      (response) => response.writeHead(404).end(body),
      /404/,
      1,
    ],
    [
      'is too large',
      { [address]: pin(body) },
      (response) => response.end('x'.repeat(1_000_000)),
      /larger/,
      1,
    ],
    [
      'closes the connection',
      { [address]: pin(body) },
      (response) => response.destroy(),
      /cannot be read/,
      1,
    ],
  ])('that %s omits only its tool', async (_, schemas, respond, messagePattern, requests) => {
    const requestPaths = await serveSchemas((_, response) => respond(response))
    const { names, referenceErrors } = await load(aReferringManifest(address), {}, schemas)

    expect(names).toEqual(['neighbour'])
    expect(referenceErrors).toContain(schemaPointer)
    expect(referenceErrors).toMatch(messagePattern)
    expect(requestPaths).toHaveLength(requests)
  })

  test('that is not pinned is not contacted by any command', async () => {
    let contacts = 0
    const server = createServer().on('connection', (socket) => {
      contacts++
      socket.destroy()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const uri = `https://127.0.0.1:${(server.address() as AddressInfo).port}/a.json`
    const cwd = await aProject({
      'agent.yaml': toYaml(aReferringManifest(uri)),
      'drawbridge.yaml': 'sources: [{ manifest: agent.yaml, handlers: handlers.ts }]\n',
      'handlers.ts': 'export const neighbour = () => ({})\nexport const lookUpOrder = () => ({})\n',
    })

    const [check, list, call, project] = await Promise.all([
      drawbridge(['check'], { cwd }),
      drawbridge(['list'], { cwd }),
      drawbridge(['call', 'neighbour', json({ $ref: uri, $schema: uri })], { cwd }),
      drawbridge(['project'], { cwd }),
    ])

    expect([check, list, call, project].map(({ code }) => code)).toEqual([1, 0, 0, 0])
    expect(check.stdout).toMatch(/reference_unresolved/)
    expect(contacts).toBe(0)
  })
})

test('referenced files are not read at call time: deleting one after load has no effect', async () => {
  const manifest = aReferringManifest('a.json')
  const folder = await aProject({ 'agent.yaml': toYaml(manifest), 'a.json': json(money) })
  const source = manifestSource(path.join(folder, 'agent.yaml'), { handlers: answering(manifest) })
  const bridge = createDrawbridge({ sources: [source] })
  onTestFinished(() => bridge.close(0))
  await bridge.ready
  rmSync(path.join(folder, 'a.json'))

  expect(await toolNames(bridge)).toEqual(['look-up-order', 'neighbour'])
  expect(await bridge.call('look-up-order', { value: 1 })).not.toHaveProperty('isError')
  expect(await bridge.call('look-up-order', {})).toMatchObject({ isError: true })
})
