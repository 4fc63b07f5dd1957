import { createHash } from 'node:crypto'
import { rmSync, symlinkSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
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

/** One capability with the reference, and one good neighbour. */
const referring = (uri: string, parts: Fields = {}) =>
  aManifest({ capabilities: [{ input_schema: { $ref_uri: uri }, ...parts }, { id: 'neighbour' }] })

interface Loaded {
  readonly input: Fields | undefined
  readonly names: readonly string[]
  /** What was said of the capability that refers. */
  readonly said: string
}

async function load(
  manifest: ReturnType<typeof aManifest>,
  files: Readonly<Record<string, string>>,
  schemas: Readonly<Record<string, string>> = {},
): Promise<Loaded & { bridge: Awaited<ReturnType<typeof serveManifest>> }> {
  const bridge = await serveManifest(manifest, { handlers: answering(manifest), files, schemas })
  const { tools } = await bridge.list()
  const said = bridge.diagnostics
    .filter(({ code }) => code === 'reference_unresolved' || code === 'schema_unusable')
    .map(({ pointer, message }) => `${pointer} ${message}`)
    .join('\n')
  const input = tools.find(({ name }) => name === 'look-up-order')?.inputSchema as
    | Fields
    | undefined
  return { bridge, input, names: tools.map(({ name }) => name), said }
}

const at = '/capabilities/0/input_schema'

describe('a reference to a file', () => {
  test('is what the tool is served with, and what calls are checked by [M16]', async () => {
    const { bridge, input } = await load(referring('schemas/money.json'), {
      'schemas/money.json': json(money),
    })

    expect(input).toEqual(money)
    expect(await bridge.call('look-up-order', { value: 1 })).not.toHaveProperty('isError')
    expect(await bridge.call('look-up-order', { value: 'a' })).toMatchObject({ isError: true })
  })

  test('may be YAML, and may be written with percent signs', async () => {
    const { input } = await load(referring('my%20schemas/money.yaml'), {
      'my schemas/money.yaml': toYaml(money),
    })

    expect(input).toEqual(money)
  })

  test('inside others are bundled under $defs, relative to the file they stand in', async () => {
    const { bridge, input } = await load(referring('schemas/order.json'), {
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
    expect(Object.keys(input?.$defs as Fields)).toHaveLength(2)
    const calling = (value: unknown) =>
      bridge.call('look-up-order', { total: { value }, tax: { value: 5 } })
    expect(await calling(1)).not.toHaveProperty('isError')
    expect(await calling(0)).toMatchObject({ isError: true })
  })

  test('may be to a part of a document', async () => {
    const { bridge, input } = await load(referring('all.json#/$defs/order'), {
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

  test('in a circle is followed once', async () => {
    const { bridge, input } = await load(referring('a.json'), {
      'a.json': json({
        type: 'object',
        properties: { b: { $ref: 'b.json' }, n: { type: 'number' } },
      }),
      'b.json': json({ type: 'object', properties: { a: { $ref: 'a.json' }, b: { $ref: '#' } } }),
    })

    expect(input).toBeDefined()
    const deep = (n: unknown) => bridge.call('look-up-order', { b: { b: { a: { n } } } })
    expect(await deep(1)).not.toHaveProperty('isError')
    expect(await deep('a')).toMatchObject({ isError: true })
  })

  test('gives the same bytes whenever it is loaded [M1]', async () => {
    const files = {
      'a.json': json({
        type: 'object',
        properties: { c: { $ref: 'c.json' }, b: { $ref: 'b.json' } },
      }),
      'b.json': json({ type: 'object', properties: { c: { $ref: 'c.json' } } }),
      'c.json': json({ type: 'string' }),
    }
    const [first, second] = [
      await load(referring('a.json'), files),
      await load(referring('a.json'), files),
    ]

    expect(json(await first.bridge.list())).toBe(json(await second.bridge.list()))
  })

  test('keeps definitions that the schema already has, whatever they are called', async () => {
    const schema = {
      type: 'object',
      properties: { own: { $ref: '#/$defs/document_1' }, other: { $ref: 'other.json' } },
      $defs: { document_1: { type: 'string' } },
    }
    const { bridge } = await load(referring('x.json', { input_schema: schema }), {
      'other.json': json({ type: 'number' }),
    })

    expect(await bridge.call('look-up-order', { own: 'text', other: 1 })).not.toHaveProperty(
      'isError',
    )
    expect(await bridge.call('look-up-order', { own: 5, other: 1 })).toMatchObject({
      isError: true,
    })
  })

  test('keeps properties whose names are keywords elsewhere', async () => {
    const properties = { $id: { type: 'string' }, $schema: { type: 'string' } }
    const { input } = await load(referring('a.json'), {
      'a.json': json({ $id: 'https://a.example/a', type: 'object', properties }),
    })

    expect(input?.properties).toEqual(properties)
  })

  test('is not looked for in values, which only look like one', async () => {
    const schema = {
      type: 'object',
      properties: { pointer: { type: 'object', default: { $ref: 'no-such-file.json' } } },
    }
    const { names } = await load(referring('a.json', { input_schema: schema }), {})

    expect(names).toContain('look-up-order')
  })

  test('works for outputs, too', async () => {
    const manifest = aManifest({ capabilities: [{ output_schema: { $ref_uri: 'money.json' } }] })
    const { bridge } = await load(manifest, { 'money.json': json(money) })

    expect((await bridge.list()).tools[0]?.outputSchema).toEqual(money)
  })
})

describe('a reference that cannot be followed leaves out its tool alone:', () => {
  const chain = (length: number) =>
    Object.fromEntries(
      Array.from({ length }, (_, index) => [
        `${index}.json`,
        json({ type: 'object', properties: { next: { $ref: `${index + 1}.json` } } }),
      ]),
    )
  const nested = (depth: number): Fields => {
    let schema: Fields = { type: 'string' }
    for (let level = 0; level < depth; level++)
      schema = { type: 'object', properties: { a: schema } }
    return schema
  }

  test.each<[string, string, Record<string, string>, RegExp]>([
    ['to nothing', 'gone.json', {}, /does not exist/],
    ['out of the folder', '../../../../../../etc/passwd', {}, /outside/],
    [
      'out of the folder, in disguise',
      '%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd',
      {},
      /outside|no such/,
    ],
    ['out of the folder, absolutely', '/etc/passwd', {}, /outside/],
    ['to a file: address', 'file:///etc/passwd', {}, /only files and https/],
    ['to plain http', 'http://127.0.0.1:9/a.json', {}, /only files and https/],
    ['to data', 'data:application/json,1', {}, /only files and https|cannot be read/],
    ['to what is no JSON', 'a.json', { 'a.json': '{"type": ' }, /a\.json:1:/],
    ['to what is no schema', 'a.json', { 'a.json': '[1]' }, /not a JSON Schema object/],
    ['to what is no object', 'a.json', { 'a.json': json({ type: 'string' }) }, /"type": "object"/],
    ['to a folder', 'sub', { 'sub/a.json': '{}' }, /cannot be read/],
    [
      'to what is too large',
      'a.json',
      { 'a.json': json({ ...money, x: 'x'.repeat(300_000) }) },
      /larger/,
    ],
    ['too deep', 'a.json', { 'a.json': json(nested(100)) }, /deeper/],
    ['through too many documents', '0.json', chain(200), /more than 32 documents/],
    ['to an anchor', 'a.json#money', { 'a.json': json(money) }, /anchor/],
    ['with a percent sign that means nothing', '%E0%A4%A', {}, /cannot be read/],
    [
      'whose own reference leads out',
      'a.json',
      { 'a.json': json({ type: 'object', properties: { a: { $ref: '../../../../etc/hosts' } } }) },
      /outside|no such/,
    ],
    [
      'whose own reference leads to an address',
      'a.json',
      { 'a.json': json({ type: 'object', properties: { a: { $ref: 'https://a.example/x' } } }) },
      /not listed/,
    ],
    [
      'whose pointer leads nowhere',
      'a.json#/$defs/none',
      { 'a.json': json(money) },
      /points to nothing/,
    ],
  ])('%s', async (_, uri, files, says) => {
    const { names, said } = await load(referring(uri), files)

    expect(names).toEqual(['neighbour'])
    expect(said).toContain(at)
    expect(said).toMatch(says)
    expect(said).not.toContain('root:')
  })

  test.each([
    ['a link out of the folder', '/etc/passwd'],
    ['a link to itself', 'link.json'],
  ])('%s', async (_, target) => {
    const manifest = referring('link.json')
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
      expect.objectContaining({ code: 'reference_unresolved', severity: 'error', pointer: at }),
    )
  })

  test('a link inside the folder is followed', async () => {
    const manifest = referring('link.json')
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

  test('a secret in a file that is referred to is not served, and not printed [M24]', async () => {
    const secret = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'
    const { bridge, names } = await load(referring('a.json'), {
      'a.json': json({ type: 'object', properties: { a: { type: 'string', default: secret } } }),
    })

    expect(json([await bridge.list(), bridge.diagnostics])).not.toContain(secret)
    expect(names).toEqual(['neighbour'])
  })
})

describe('a reference to an https address', () => {
  const address = 'https://schemas.example/money.json'
  const body = json(money)
  const pin = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

  afterEach(() => vi.unstubAllGlobals())

  /** The address leads to a server here; all else is as the platform does it. */
  async function serving(answer: (request: IncomingMessage, response: ServerResponse) => void) {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(request.url ?? '')
      answer(request, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    const here = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const real = globalThis.fetch
    vi.stubGlobal('fetch', (url: string, init: RequestInit) =>
      real(String(url).replace('https://schemas.example', here), init),
    )
    return asked
  }

  test('that is pinned with the right hash is fetched once, when it is loaded, and never again', async () => {
    const asked = await serving((_, response) => response.end(body))
    const { bridge, input } = await load(referring(address), {}, { [address]: pin(body) })

    await bridge.list()
    await bridge.call('look-up-order', { value: 1 })
    await bridge.call('look-up-order', { value: 'https://schemas.example/other.json' })

    expect(input).toEqual(money)
    expect(asked).toEqual(['/money.json'])
  })

  test('relative to one that was fetched needs a pin of its own', async () => {
    const order = json({ type: 'object', properties: { total: { $ref: 'money.json' } } })
    const asked = await serving(({ url }, response) =>
      response.end(url === '/order.json' ? order : body),
    )
    const from = 'https://schemas.example/order.json'

    const without = await load(referring(from), {}, { [from]: pin(order) })
    expect(without.names).toEqual(['neighbour'])
    expect(asked).toEqual(['/order.json'])
    const both = await load(referring(from), {}, { [from]: pin(order), [address]: pin(body) })
    expect(both.names).toContain('look-up-order')
  })

  test('cannot lead back to files from there', async () => {
    const order = json({ type: 'object', properties: { a: { $ref: 'file:///etc/passwd' } } })
    await serving((_, response) => response.end(order))
    const { names } = await load(referring(address), {}, { [address]: pin(order) })

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
      'leads somewhere else',
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
    ['breaks off', { [address]: pin(body) }, (response) => response.destroy(), /cannot be read/, 1],
  ])('that %s leaves out its tool alone', async (_, schemas, answer, says, requests) => {
    const asked = await serving((_, response) => answer(response))
    const { names, said } = await load(referring(address), {}, schemas)

    expect(names).toEqual(['neighbour'])
    expect(said).toContain(at)
    expect(said).toMatch(says)
    expect(asked).toHaveLength(requests)
  })

  test('that is not pinned is not contacted by any verb', async () => {
    let contacts = 0
    const server = createServer().on('connection', (socket) => {
      contacts++
      socket.destroy()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const uri = `https://127.0.0.1:${(server.address() as AddressInfo).port}/a.json`
    const cwd = await aProject({
      'agent.yaml': toYaml(referring(uri)),
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

test('a file that goes after it was read is not missed: nothing is read when a tool is called', async () => {
  const manifest = referring('a.json')
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
