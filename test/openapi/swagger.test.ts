import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { aProject } from '../support/a-project.ts'
import { type ServedApi, serveApi } from '../support/api/an-api.ts'
import type { Fields } from '../support/api/api-document.ts'

const responses = { 200: { description: 'Done.' } }
const ref = (name: string) => ({ $ref: `#/parameters/${name}` })

async function serve(operation: Fields, rest: Fields = {}): Promise<ServedApi> {
  const document = {
    swagger: '2.0',
    info: { title: 'Small', version: '1.0.0' },
    paths: { '/things/{id}': { post: { operationId: 'send', responses, ...operation } } },
    ...rest,
  }
  const folder = await aProject({ 'api.yaml': stringify(document) })
  return serveApi(path.join(folder, 'api.yaml'))
}

const id = { name: 'id', in: 'path', required: true, type: 'string' }

/** The shown schema of the body. */
async function bodyOf({ bridge }: ServedApi): Promise<unknown> {
  const { tools } = await bridge.list()
  return tools[0]?.inputSchema.properties?.body
}

describe('a parameter that operations of Swagger 2.0 share', () => {
  test('can be the body, beside other parameters', async () => {
    const schema = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }
    const served = await serve(
      { parameters: [ref('Thing'), id] },
      { parameters: { Thing: { name: 'thing', in: 'body', required: true, schema } } },
    )

    await served.bridge.call('send', { id: '1', body: { name: 'x' } })

    expect(served.bridge.diagnostics).toEqual([])
    expect(await bodyOf(served)).toMatchObject(schema)
    expect(served.api.received[0]).toMatchObject({ target: '/things/1', body: { kind: 'json' } })
  })

  test('can be a field of a form', async () => {
    const file = { name: 'file', in: 'formData', type: 'file', required: true }
    const served = await serve(
      { parameters: [id, ref('File'), { name: 'note', in: 'formData', type: 'string' }] },
      { parameters: { File: file } },
    )

    await served.bridge.call('send', { id: '1', body: { file: { text: 'x' }, note: 'y' } })

    expect(served.bridge.diagnostics).toEqual([])
    expect(served.api.received[0]?.body).toMatchObject({
      parts: [{ name: 'file', filename: 'file' }, { name: 'note' }],
    })
  })
})

test.each(['multi', 'pipes', 'csv'])(
  'a shared list of a form with the collectionFormat %s is shown as a list',
  async (collectionFormat) => {
    const list = { type: 'array', items: { type: 'string' } }
    const tags = { name: 'tags', in: 'formData', ...list, collectionFormat }
    const served = await serve({ parameters: [id, ref('Tags')] }, { parameters: { Tags: tags } })

    await served.bridge.call('send', { id: '1', body: { tags: ['a', 'b'] } })

    expect(await bodyOf(served)).toEqual({ type: 'object', properties: { tags: list } })
    expect(served.api.received[0]?.bytes.toString()).toBe(
      { multi: 'tags=a&tags=b', pipes: 'tags=a%7Cb', csv: 'tags=a,b' }[collectionFormat],
    )
  },
)

describe('a form of Swagger 2.0', () => {
  const field = (name: string, rest: Fields): Fields => ({ name, in: 'formData', ...rest })

  test('keeps the limits of its fields', async () => {
    const limits = { type: 'integer', minimum: 5, maximum: 9, default: 7 }
    const texts = { type: 'string', enum: ['x', 'y'], maxLength: 3, 'x-nullable': true }
    const list = { type: 'array', items: { type: 'string', enum: ['q'] }, maxItems: 2 }
    const served = await serve({
      parameters: [id, field('n', limits), field('t', texts), field('l', list)],
    })

    expect(await bodyOf(served)).toMatchObject({
      properties: {
        n: limits,
        t: { type: ['string', 'null'], enum: ['x', 'y', null], maxLength: 3 },
        l: list,
      },
    })
  })

  test('is URL-encoded if its media types have no form and it has no file', async () => {
    const served = await serve({
      consumes: ['application/json'],
      parameters: [id, field('a', { type: 'string', required: true })],
    })

    await served.bridge.call('send', { id: '1', body: { a: 'b c' } })

    expect(served.api.received[0]?.headers['content-type']).toBe(
      'application/x-www-form-urlencoded',
    )
    expect(await served.bridge.call('send', { id: '1' })).toHaveProperty('isError')
  })

  test.each([
    [undefined, ['a,b']],
    ['multi', ['a', 'b']],
    ['pipes', ['a|b']],
  ])('as multipart has lists as the collectionFormat %s says', async (collectionFormat, texts) => {
    const list = { type: 'array', items: { type: 'string' }, collectionFormat }
    const served = await serve({
      consumes: ['multipart/form-data'],
      parameters: [id, field('l', list)],
    })

    await served.bridge.call('send', { id: '1', body: { l: ['a', 'b'] } })

    expect(served.api.received[0]?.body).toMatchObject({
      parts: texts.map((text) => ({ name: 'l', bytes: Buffer.from(text) })),
    })
    if (collectionFormat !== 'multi')
      expect(await served.bridge.call('send', { id: '1', body: { l: ['a,b|c'] } })).toHaveProperty(
        'isError',
      )
  })
})

test.each([
  ['query', 'tsv'],
  ['path', 'pipes'],
])(
  'a list in %s with the collectionFormat %s is sent with commas, and check says so',
  async (place, collectionFormat) => {
    const list = { type: 'array', items: { type: 'string' }, collectionFormat }
    const parameters = [
      ...(place === 'path' ? [] : [id]),
      { in: 'body', name: 'b', schema: {} },
      { name: place === 'path' ? 'id' : 'q', in: place, required: true, ...list },
    ]
    const { bridge, api } = await serve({ parameters })

    await bridge.call('send', place === 'path' ? { id: ['a', 'b'] } : { id: '1', q: ['a', 'b'] })

    expect(api.received[0]?.target).toMatch(/a(?:,|%2C)b$/)
    expect(bridge.diagnostics).toEqual([
      expect.objectContaining({ message: expect.stringContaining(`style "${collectionFormat}"`) }),
    ])
  },
)

test('a finding in a converted document points to where it is written', async () => {
  const document = `swagger: '2.0'
info: { title: Small, version: 1.0.0 }
host: x.example
paths:
  /things:
    post:
      operationId: send
      parameters:
        - { in: body, name: b, schema: { type: object, properties: { a: { type: odd } } } }
        - { in: query, name: q, type: array, collectionFormat: tsv, items: { type: string } }
        - $ref: '#/parameters/Shared'
      responses: { 200: { description: Done. } }
    put:
      operationId: put
      consumes: [multipart/form-data]
      parameters:
        - { in: query, name: r, type: string }
        - { in: formData, name: f, type: odd }
      responses: { 200: { description: Done. } }
parameters:
  Shared: { in: header, name: X-List, type: array, collectionFormat: pipes, items: {} }
`
  const folder = await aProject({ 'api.yaml': document })
  const { bridge } = await serveApi(path.join(folder, 'api.yaml'))
  await bridge.list()

  const lines = bridge.diagnostics.map(({ at = '' }) => Number(/api\.yaml:(\d+)/.exec(at)?.[1]))
  expect(lines.sort((a, b) => a - b)).toEqual([9, 10, 18, 21])
})
