import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { openApiSource } from '../../src/index.ts'
import type { OpenApiSourceOptions } from '../../src/runtime/open-openapi.ts'
import { put } from '../support/a-project.ts'
import { aDocument, anOperation, serveApi } from '../support/api/an-api.ts'
import { serveHere } from '../support/serve-here.ts'

const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
const paths = {
  '/orders': {
    get: anOperation('listOrders', { tags: ['orders'] }),
    post: anOperation('createOrder', { tags: ['orders', 'admin'] }),
  },
  '/orders/{id}': { parameters: [id], delete: anOperation('deleteOrder', { tags: ['orders'] }) },
  '/users': { get: anOperation('listUsers', { tags: ['users'] }) },
}
const servers = { servers: [{ url: 'http://127.0.0.1:9' }] }

async function load(options: OpenApiSourceOptions, document: object = paths) {
  const file = await aDocument(document as never, servers)
  const { bridge } = await serveHere({ sources: [openApiSource(file, { id: 'api', ...options })] })
  const { tools } = await bridge.list()
  const messages = bridge.diagnostics.map(({ code, message }) => `${code}: ${message}`)
  return { bridge, tools, names: tools.map(({ name }) => name), messages, file }
}

describe('include and exclude', () => {
  test.each<[string, OpenApiSourceOptions, string[]]>([
    ['nothing', {}, ['createOrder', 'deleteOrder', 'listOrders', 'listUsers']],
    ['a tag', { include: [{ tag: 'orders' }] }, ['createOrder', 'deleteOrder', 'listOrders']],
    ['a path', { include: [{ path: '/orders/*' }] }, ['deleteOrder']],
    ['an operation', { include: [{ operation: 'list*' }] }, ['listOrders', 'listUsers']],
    ['a method', { include: [{ method: 'GET' }] }, ['listOrders', 'listUsers']],
    ['several conditions', { include: [{ tag: 'orders', method: 'get' }] }, ['listOrders']],
    [
      'several entries',
      { include: [{ tag: 'users' }, { operation: 'createOrder' }] },
      ['createOrder', 'listUsers'],
    ],
    [
      'less',
      { include: [{ tag: 'orders' }], exclude: [{ method: 'delete' }, { tag: 'admin' }] },
      ['listOrders'],
    ],
  ])('select by %s', async (_, options, expected) => {
    const { names, messages } = await load(options)

    expect(names).toEqual(expected)
    expect(messages).toEqual([])
  })

  test('that match nothing are reported', async () => {
    const { names, messages } = await load({
      include: [{ tag: 'order' }, { tag: 'users' }],
      exclude: [{ path: '/user' }],
    })

    expect(names).toEqual(['listUsers'])
    expect(messages).toEqual([
      'selector_unmatched: include[0] matches no operation of the document: {"tag":"order"}.',
      'selector_unmatched: exclude[0] matches no operation of the document: {"path":"/user"}.',
    ])
  })

  test('that leave nothing are an error', async () => {
    const { messages } = await load({ exclude: [{ operation: '*' }] })

    expect(messages).toEqual(['openapi_empty: No operation is served: none is selected.'])
  })
})

describe('effects', () => {
  test('follow from the method, and can be overridden', async () => {
    const { tools, messages } = await load({
      effects: {
        'create*': { writes: false, repeatable: true },
        deleteOrder: { irreversible: false },
        gone: { writes: true },
      },
    })

    expect(
      Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations])),
    ).toMatchObject({
      listOrders: { readOnlyHint: true, idempotentHint: true },
      createOrder: { readOnlyHint: true, idempotentHint: true },
      deleteOrder: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
    })
    expect(messages).toEqual([
      'selector_unmatched: effects: "gone" matches no operation that is served.',
    ])
  })
})

describe('when the document changes', () => {
  const read = { get: { responses: {} } }

  test.each([[{ '/a/b': read, '/a-b': read }], [{ '/a-b': read, '/a/b': read }]])(
    'ids made of the same words do not depend on the order',
    async (document) => {
      const { names } = await load({}, document)

      expect(names).toEqual(['get_a_b_5eb2f0dd', 'get_a_b_7f0c6588'])
    },
  )

  test('an operationId that equals a derived id takes nothing over', async () => {
    const { tools } = await load({}, { '/a/b': read, '/c': { get: anOperation('get_a_b') } })

    expect(tools.map(({ name, description }) => `${name} ${description}`)).toEqual([
      'get_a_b Calls GET /c.',
      expect.stringMatching(/^get_a_b_[0-9a-f]{8} Calls GET \/a\/b\.$/),
    ])
  })

  test('an operation stays excluded when another one gets the same operationId', async () => {
    const { names, messages } = await load(
      { exclude: [{ operation: 'deleteOrder' }], include: [{ path: '/orders*' }] },
      { ...paths, '/users': { get: anOperation('deleteOrder') } },
    )

    expect(names).toEqual(['createOrder', 'listOrders'])
    expect(messages.filter((one) => one.startsWith('selector'))).toEqual([])
  })

  test('effects stay with an operation when another one gets the same operationId', async () => {
    const { tools } = await load(
      { effects: { createOrder: { irreversible: true } }, include: [{ path: '/orders' }] },
      { ...paths, '/users': { post: anOperation('createOrder') } },
    )

    expect(tools).toContainEqual(
      expect.objectContaining({
        name: 'post_orders',
        annotations: expect.objectContaining({ destructiveHint: true }),
      }),
    )
  })

  test('an entry of exclude that matches nothing is an error', async () => {
    const { bridge } = await load({ exclude: [{ operation: 'removeOrder' }] })

    expect(bridge.diagnostics).toMatchObject([{ code: 'selector_unmatched', severity: 'error' }])
  })
})

describe('names', () => {
  test('come from method and path where the operationId is missing or not unique', async () => {
    const { names, messages } = await load(
      {},
      {
        '/a/{id}/b': {
          parameters: [id],
          get: { responses: {} },
          post: { operationId: '', responses: {} },
        },
        '/c': { get: anOperation('same'), put: anOperation('same') },
        '/d.e': { get: anOperation('dots.and spaces') },
        '/': { get: { responses: {} } },
      },
    )

    expect(names).toEqual([
      'dots_and_spaces',
      'get_a_id_b',
      'get_c',
      'get_root',
      'post_a_id_b',
      'put_c',
    ])
    expect(messages.filter((one) => one.startsWith('openapi_inexact'))).toEqual([
      'openapi_inexact: Several operations have the operationId same; this one is named get_c.',
      'openapi_inexact: Several operations have the operationId same; this one is named put_c.',
    ])
  })

  test('of deprecated operations can be called, are not listed, and check says so', async () => {
    const file = await aDocument({ '/old': { get: anOperation('old', { deprecated: true }) } })
    const { bridge } = await serveApi(file)

    expect((await bridge.list()).tools).toEqual([])
    expect((await bridge.call('old', {})).isError).toBeUndefined()
    expect(bridge.diagnostics).toMatchObject([
      { severity: 'info', message: expect.stringContaining('old can be called by name') },
    ])
  })
})

describe('an overlay', () => {
  const overlaid = async (actions: unknown) => {
    const file = await aDocument(paths as never, servers)
    const overlay = file.replace('api.yaml', 'overlay.yaml')
    await put(
      overlay,
      typeof actions === 'string'
        ? actions
        : stringify({ overlay: '1.0.0', info: { title: 'x', version: '1' }, actions }),
    )
    const { bridge } = await serveHere({ sources: [openApiSource(file, { id: 'api', overlay })] })
    const { tools } = await bridge.list()
    return { tools, diagnostics: bridge.diagnostics }
  }

  test('renames, describes, adds to lists and removes', async () => {
    const { tools, diagnostics } = await overlaid([
      {
        target: '$.paths["/orders"].get',
        update: { operationId: 'orders', description: 'Lists all orders.', tags: ['more'] },
      },
      { target: '$.paths.*[?@.operationId=="createOrder"]', remove: true },
      { target: '$.paths["/users"]', remove: true },
    ])

    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ['deleteOrder', expect.any(String)],
      ['orders', 'Lists all orders.'],
    ])
    expect(tools[1]?._meta?.['dev.drawbridge/extras']).toMatchObject({ tags: ['orders', 'more'] })
    expect(diagnostics).toEqual([])
  })

  test.each([
    ['$.paths["/orders"].get.tags[2,0]', ['b', 'd']],
    ['$.paths["/orders"].get.tags[0,0]', ['b', 'c', 'd']],
    ['$.paths["/orders"].get.tags[0,2,1]', ['d']],
  ])('removes the items that %s selects, and no others', async (target, expected) => {
    const { tools } = await overlaid([
      { target: '$.paths["/orders"].get.tags', remove: true },
      { target: '$.paths["/orders"].get', update: { tags: ['a', 'b', 'c', 'd'] } },
      { target, remove: true },
    ])

    const extras = tools.map(({ _meta }) => _meta?.['dev.drawbridge/extras'])
    expect(extras).toContainEqual(expect.objectContaining({ tags: expected }))
  })

  test('updates what is selected twice once', async () => {
    const { tools } = await overlaid([
      { target: '$.paths["/orders"]["get","get"]', update: { tags: ['more'] } },
    ])

    const extras = tools.map(({ _meta }) => _meta?.['dev.drawbridge/extras'])
    expect(extras).toContainEqual(expect.objectContaining({ tags: ['orders', 'more'] }))
  })

  test('that removes the whole document is reported', async () => {
    const { diagnostics } = await overlaid([{ target: '$', remove: true }])

    expect(diagnostics).toMatchObject([
      { code: 'overlay_unmatched', message: expect.stringContaining('is not removed') },
    ])
  })

  test('whose target matches nothing or is no JSONPath is reported with its line, and the rest applies', async () => {
    const { tools, diagnostics } = await overlaid([
      { target: '$.paths["/gone"]', remove: true },
      { target: 'paths[', remove: true },
      { target: '$.paths["/users"]', remove: true },
    ])

    expect(tools).toHaveLength(3)
    expect(diagnostics).toMatchObject([
      { code: 'overlay_unmatched', at: expect.stringMatching(/overlay\.yaml:6:\d+$/) },
      { code: 'overlay_unmatched', at: expect.stringMatching(/overlay\.yaml:8:\d+$/) },
    ])
  })

  test.each([
    'a: [',
    'openapi: 3.0.0',
    'overlay: 1.0.0\nactions: {}',
    'overlay: 1.0.0\nactions: [{}]',
  ])('that is none is an error: %j', async (text) => {
    const { tools, diagnostics } = await overlaid(text)

    expect(tools).toEqual([])
    expect(diagnostics).toMatchObject([
      { severity: 'error', at: expect.stringContaining('overlay.yaml') },
    ])
  })
})
