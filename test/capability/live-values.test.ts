import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createDrawbridge, definitionSource, type ToolDefinition } from '../../src/index.ts'

/** The result of a tool that returns a value, and the causes that the operator sees. */
async function resultOf(value: unknown, parts: Partial<ToolDefinition> = {}) {
  const causes: (string | undefined)[] = []
  const tool: ToolDefinition = {
    name: 'get_value',
    description: 'Returns a value.',
    schema: z.object({}),
    category: 'read',
    execute: () => value,
    ...parts,
  }
  const bridge = createDrawbridge({
    sources: [definitionSource([tool])],
    onOperatorFailure: ({ failure }) => causes.push(failure.cause),
  })
  onTestFinished(() => bridge.close())
  return { ...(await bridge.call('get_value')), causes }
}

const bytes = new Uint8Array([1, 2, 253])
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

class Money {
  readonly cents = 1250
  #secret = 'x'
  toString() {
    return this.#secret
  }
}

class Id {
  toJSON() {
    return 'id-1'
  }
}

describe('a value in a result', () => {
  test.each<[string, unknown, unknown]>([
    ['a Date', new Date('2026-01-02T03:04:05Z'), '2026-01-02T03:04:05.000Z'],
    ['a URL', new URL('https://x.example/a?b=c'), 'https://x.example/a?b=c'],
    ['a bigint', 12345678901234567890n, '12345678901234567890'],
    ['a Map with text keys', new Map([['a', new Date(0)]]), { a: '1970-01-01T00:00:00.000Z' }],
    [
      'a Map with other keys',
      new Map<unknown, unknown>([
        [1, 'x'],
        ['1', 'y'],
      ]),
      [
        [1, 'x'],
        ['1', 'y'],
      ],
    ],
    ['a Set', new Set([1n, 'x']), ['1', 'x']],
    ['bytes', bytes, 'AQL9'],
    ['a Buffer', Buffer.from(bytes), 'AQL9'],
    ['an ArrayBuffer', bytes.buffer.slice(0), 'AQL9'],
    ['a DataView', new DataView(bytes.buffer, 1), 'Av0='],
    ['a Blob', new Blob([bytes]), 'AQL9'],
    ['a File', new File(['x'], 'x.txt'), 'eA=='],
    ['an empty Blob', new Blob([]), ''],
    ['numbers', new Float64Array([0.5, 2]), [0.5, 2]],
    ['negative zero', -0, 0],
    ['a class instance', new Money(), { cents: 1250 }],
    ['an object with toJSON', new Id(), 'id-1'],
    ['a boxed string', new String('x'), 'x'],
    ['a hole in an array', [1, undefined, 2], [1, null, 2]],
    ['a method', { a: 1, run: () => 2 }, { a: 1 }],
    ['a null prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  ])('%s passes as what it is in JSON', async (_, value, json) => {
    const { structuredContent, content } = await resultOf({ value, list: [value] })

    expect(structuredContent).toEqual({ value: json, list: [json] })
    expect(content).toEqual([{ type: 'text', text: JSON.stringify({ value: json, list: [json] }) }])
  })

  const circle: Record<string, unknown> = { name: 'x' }
  circle.child = { parents: [circle] }

  test.each<[string, unknown, string]>([
    ['NaN', { a: [1, Number.NaN] }, '/a/1: NaN'],
    ['Infinity', { a: { b: Number.POSITIVE_INFINITY } }, '/a/b: Infinity'],
    ['an invalid Date', { at: new Date('x') }, '/at: an invalid Date'],
    ['a promise', { a: Promise.resolve(1) }, '/a: a Promise is not JSON; await it'],
    ['an Error', { errors: [new Error('secret')] }, '/errors/0: an Error'],
    ['an opaque object', { pattern: /x/ }, '/pattern: a RegExp has no properties'],
    ['an iterator', { rows: [1].values() }, '/rows: '],
    ['a circle', { a: circle }, '/a/child/parents/0/child: refers back'],
    [
      'a getter that throws',
      {
        a: [
          {
            get b() {
              throw new Error('broken')
            },
          },
        ],
      },
      '/a/0/b: reading it failed: Error: broken',
    ],
    [
      'a toJSON that throws',
      {
        a: {
          toJSON() {
            throw null
          },
        },
      },
      '/a: reading it failed: null',
    ],
    ['a function', () => 1, 'the value: a function'],
  ])('%s fails the call, and the operator learns the place', async (_, value, cause) => {
    const { isError, causes, content } = await resultOf(value)

    expect(isError).toBe(true)
    expect(causes).toEqual([expect.stringContaining(cause)])
    expect(JSON.stringify(content)).not.toContain(cause)
  })

  test('bytes count toward the size limit before they are converted', async () => {
    expect(await resultOf({ file: new Blob([new Uint8Array(4 * 1024 * 1024)]) })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('larger than') }],
    })
  })
})

describe('bytes as the whole result', () => {
  test('are not read when they are larger than the limit', async () => {
    const blob = new Blob([new Uint8Array(4 * 1024 * 1024)], { type: 'image/png' })
    const read = () => Promise.reject(new Error('was read'))
    Object.defineProperty(blob, 'arrayBuffer', { value: read })
    expect(await resultOf(blob)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('larger than') }],
    })
  })

  test.each<[string, unknown, object]>([
    ['an image by its signature', png, { type: 'image', mimeType: 'image/png' }],
    [
      'an image by its type',
      new Blob(['<svg/>'], { type: 'image/svg+xml' }),
      { type: 'image', data: 'PHN2Zy8+', mimeType: 'image/svg+xml' },
    ],
    ['audio', new Blob(['x'], { type: 'audio/wav' }), { type: 'audio', mimeType: 'audio/wav' }],
    [
      'a file',
      new File(['a,b'], 'träume.csv', { type: 'text/csv' }),
      {
        type: 'resource',
        resource: { uri: 'attachment:tr%C3%A4ume.csv', mimeType: 'text/csv', blob: 'YSxi' },
      },
    ],
    [
      'unknown bytes',
      bytes,
      {
        type: 'resource',
        resource: {
          uri: 'attachment:result',
          mimeType: 'application/octet-stream',
          blob: 'AQL9',
        },
      },
    ],
  ])('%s becomes a content block', async (_, value, block) => {
    const { content, structuredContent } = await resultOf(value)

    expect(content).toMatchObject([block])
    expect(structuredContent).toBeUndefined()
  })

  test('with an output schema they are data', async () => {
    const outputSchema = z.instanceof(Uint8Array)

    expect(await resultOf(bytes, { outputSchema })).toMatchObject({
      content: [{ type: 'text', text: 'AQL9' }],
    })
  })
})

describe('an output schema', () => {
  test('of Zod checks the live value and sends it as JSON', async () => {
    const outputSchema = z.object({ at: z.date().min(new Date(0)), tags: z.set(z.string()) })
    const value = { at: new Date(5), tags: new Set(['x']) }

    expect((await resultOf(value, { outputSchema })).structuredContent).toEqual({
      at: '1970-01-01T00:00:00.005Z',
      tags: ['x'],
    })
    const early = await resultOf({ ...value, at: new Date(-5) }, { outputSchema })
    expect(early.causes).toEqual([expect.stringContaining('/at')])
  })

  test('of Zod that describes the JSON accepts the live value, too', async () => {
    const outputSchema = z.object({ at: z.iso.datetime(), id: z.string() })

    expect(
      (await resultOf({ at: new Date(5), id: new Id() }, { outputSchema })).structuredContent,
    ).toEqual({ at: '1970-01-01T00:00:00.005Z', id: 'id-1' })
  })

  test('of JSON Schema checks the converted value', async () => {
    const outputSchema = {
      type: 'object',
      properties: { at: { type: 'string' }, n: { type: 'string' } },
    }

    expect(
      (await resultOf({ at: new Date(5), n: 7n }, { outputSchema })).structuredContent,
    ).toEqual({ at: '1970-01-01T00:00:00.005Z', n: '7' })
  })
})
