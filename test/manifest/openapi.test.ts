import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isFault } from '../../src/capability/fault.ts'
import { fromOpenApi } from '../../src/sources/manifest/openapi/from-openapi.ts'
import { manifestShape } from '../../src/sources/manifest/reading/manifest-shape.ts'
import { readManifest } from '../../src/sources/manifest/reading/read-manifest.ts'
import { readYaml } from '../../src/yaml/read-yaml.ts'
import { amount } from '../support/amount.ts'
import { aContract } from '../support/builders.ts'

type Fields = Readonly<Record<string, unknown>>

const aDocument = (parts: Fields = {}): Fields => ({
  openapi: '3.1.0',
  info: { title: 'Pet Shop', version: '1.2.0', description: 'Sells pets of all kinds.' },
  servers: [{ url: 'https://pets.example.com' }],
  paths: { '/pets': { get: anOperation() } },
  ...parts,
})

const anOperation = (parts: Fields = {}): Fields => ({
  operationId: 'listPets',
  summary: 'Lists all the pets',
  responses: { 200: anAnswer({ type: 'object' }) },
  ...parts,
})

const anAnswer = (schema: unknown) => ({
  description: 'ok',
  content: { 'application/json': { schema } },
})

const read = (text: string, file: string) =>
  fromOpenApi({ text, file }, { documentPath: `./${file}` })

async function draft(document: Fields) {
  const reading = await read(JSON.stringify(document), 'api.json')
  if (isFault(reading)) throw new Error(JSON.stringify(reading.fault))
  return reading
}

async function faultsOf(text: string) {
  const reading = await read(text, 'api.yaml')
  return isFault(reading) ? reading.fault : []
}

/** Imports a document with one operation; returns its capability and the review messages. */
async function importOperation(method: string, operation: Fields, parts: Fields = {}) {
  const { manifest, reviews } = await draft(
    aDocument({ paths: { '/pets': { [method]: anOperation(operation) } }, ...parts }),
  )
  const [capability] = manifest.capabilities
  if (!capability) throw new Error('nothing was imported')
  const reviewsOf = (field: string) =>
    reviews
      .filter(({ path }) => path.startsWith(`/capabilities/0/${field}`))
      .map((one) => one.message)
  return { capability, reviewsOf }
}

const inputOf = async (parameter: Fields, parts: Fields = {}) =>
  (await importOperation('get', { parameters: [{ name: 'a', in: 'query', ...parameter }] }, parts))
    .capability.input_schema

describe('operations', () => {
  test.each([
    ['get', 'none', true, false],
    ['head', 'none', true, false],
    ['options', 'none', true, false],
    ['post', 'low', false, true],
    ['put', 'low', true, true],
    ['patch', 'low', false, true],
    ['delete', 'high', true, true],
  ])(
    '%s has side_effect_level %s, with a review that it is a guess',
    async (method, level, idempotent, key) => {
      const { capability, reviewsOf } = await importOperation(method, {})

      expect(capability).toMatchObject({
        side_effect_level: level,
        idempotent,
        idempotency_key_required: key,
      })
      expect(reviewsOf('side_effect_level').join()).toMatch(`guessed from ${method.toUpperCase()}`)
    },
  )

  test('are named after the operationId, or after method and path', async () => {
    const { manifest, reviews } = await draft(
      aDocument({
        paths: {
          '/pets': { get: anOperation({ operationId: 'listAllPETs' }) },
          '/Pets/{id}': { get: anOperation({ operationId: 'list_all_pets' }) },
          '/a/{b}/c': { delete: anOperation({ operationId: undefined }) },
          '/ü': { get: anOperation({ operationId: '…' }) },
        },
      }),
    )

    expect(manifest.capabilities.map(({ id }) => id)).toEqual([
      'list-all-pe-ts',
      'list-all-pets',
      'delete-a-b-c',
      'get-u',
    ])
    expect(reviews.map(({ path }) => path)).toContain('/capabilities/2/id')
  })

  test('with the same operationId are named after method and path', async () => {
    const { manifest } = await draft(
      aDocument({
        paths: { '/a': { get: anOperation(), post: anOperation(), put: anOperation() } },
      }),
    )

    expect(manifest.capabilities.map(({ id }) => id)).toEqual(['get-a', 'post-a', 'put-a'])
  })
})

describe('the input schema', () => {
  test('has every parameter by its name, and the body', async () => {
    const { capability } = await importOperation('post', {
      parameters: [
        { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
        { name: 'id', in: 'query', description: 'Another.', schema: { type: 'string' } },
        { name: 'Authorization', in: 'header', schema: { type: 'string' } },
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { type: 'string' } } },
      },
    })

    expect(capability.input_schema).toEqual({
      type: 'object',
      properties: {
        id: { type: 'integer' },
        query_id: { description: 'Another. Sent in the query as id.', type: 'string' },
        body: { type: 'string' },
      },
      required: ['id', 'body'],
      additionalProperties: false,
    })
  })

  test('inherits path parameters, which operations may override', async () => {
    const { manifest } = await draft(
      aDocument({
        paths: {
          '/a': {
            parameters: [
              { name: 'x', in: 'query', schema: { type: 'string' } },
              { $ref: '#/components/parameters/Y' },
            ],
            get: anOperation({
              parameters: [{ name: 'x', in: 'query', schema: { type: 'number' } }],
            }),
          },
        },
        components: { parameters: { Y: { name: 'y', in: 'query', schema: { type: 'boolean' } } } },
      }),
    )

    expect(manifest.capabilities[0]?.input_schema).toMatchObject({
      properties: { x: { type: 'number' }, y: { type: 'boolean' } },
    })
  })

  test('omits readOnly properties, and the output schema omits writeOnly properties', async () => {
    const User = {
      type: 'object',
      required: ['id', 'pin'],
      properties: {
        id: { type: 'string', readOnly: true },
        pin: { type: 'string', writeOnly: true },
      },
    }
    const schema = { $ref: '#/components/schemas/User' }
    const { capability } = await importOperation(
      'post',
      {
        requestBody: { content: { 'application/json': { schema } } },
        responses: { 201: anAnswer(schema) },
      },
      { components: { schemas: { User } } },
    )

    expect(capability.input_schema).toMatchObject({ $defs: { User: { required: ['pin'] } } })
    expect(capability.output_schema).toMatchObject({ required: ['id'] })
    expect(capability.output_schema).not.toHaveProperty('properties.pin')
  })

  test('bundles recursive schemas under $defs', async () => {
    const Tree = { type: 'object', properties: { left: { $ref: '#/components/schemas/Tree' } } }
    const schema = await inputOf(
      { schema: { $ref: '#/components/schemas/Tree' } },
      { components: { schemas: { Tree } } },
    )

    const contract = aContract(schema)
    expect(await contract.parse({ a: { left: { left: {} } } })).toMatchObject({ ok: true })
    expect(await contract.parse({ a: { left: { left: 3 } } })).toMatchObject({ ok: false })
  })

  test.each<[string, Fields, Fields]>([
    ['nullable', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [
      'nullable with enum',
      { type: 'string', nullable: true, enum: ['x'] },
      { type: ['string', 'null'], enum: ['x', null] },
    ],
    [
      'nullable without a type',
      { nullable: true, allOf: [{ type: 'string' }] },
      { anyOf: [{ allOf: [{ type: 'string' }] }, { type: 'null' }] },
    ],
    [
      'boolean exclusiveMinimum: true',
      { type: 'integer', minimum: 1, exclusiveMinimum: true },
      { type: 'integer', exclusiveMinimum: 1 },
    ],
    ['boolean exclusiveMaximum: false', { maximum: 1, exclusiveMaximum: false }, { maximum: 1 }],
    ['an example', { type: 'string', example: 'x' }, { type: 'string', examples: ['x'] }],
    [
      'format byte',
      { type: 'string', format: 'byte' },
      { type: 'string', contentEncoding: 'base64' },
    ],
    ['keywords outside JSON Schema', { xml: {}, 'x-y': 1, discriminator: {} }, {}],
  ])('translates OpenAPI 3.0: %s', async (_, schema, expected) => {
    expect(await inputOf({ schema }, { openapi: '3.0.3' })).toHaveProperty('properties', {
      a: expected,
    })
  })

  test('omits unsupported keywords with a review, so that the rest can be served', async () => {
    const { capability, reviewsOf } = await importOperation('get', {
      parameters: [
        { name: 'a', in: 'query', schema: { type: 'string', pattern: '(?i)x' } },
        { name: 'b', in: 'query', schema: { type: 'any' } },
        { name: 'c', in: 'query', schema: { $ref: 'other.yaml#/C' } },
      ],
    })

    expect(capability.input_schema).toHaveProperty('properties', {
      a: { type: 'string' },
      b: {},
      c: {},
    })
    expect(reviewsOf('input_schema')).toEqual([
      expect.stringMatching(/pattern.*regular expression/),
      expect.stringMatching(/"any"/),
      expect.stringMatching(/other\.yaml.*not fetched/),
    ])
  })
})

describe('the output schema', () => {
  const outputOf = async (responses: Fields, parts: Fields = {}) =>
    (await importOperation('get', { responses }, parts)).capability.output_schema

  test('is that of the first successful response, JSON preferred', async () => {
    const answer = {
      content: {
        'text/html': { schema: { type: 'string' } },
        'application/json': { schema: { type: 'array' } },
      },
    }

    expect(
      await outputOf({ 400: anAnswer({ type: 'null' }), 202: anAnswer({}), 200: answer }),
    ).toEqual({
      type: 'array',
    })
  })

  test.each<[string, Fields, Fields]>([
    [
      'no type but properties',
      { properties: { a: {} } },
      { type: 'object', properties: { a: {} } },
    ],
    ['allOf of objects', { allOf: [{ type: 'object' }] }, { type: 'object' }],
    ['an object or null type', { type: ['object', 'null'] }, { type: 'object' }],
    ['several types', { type: ['string', 'number'] }, { type: 'object', required: ['value'] }],
  ])('with %s at the root gets a single type, with a review', async (_, schema, expected) => {
    const { capability, reviewsOf } = await importOperation('get', {
      responses: { 200: anAnswer(schema) },
    })

    expect(capability.output_schema).toMatchObject(expected)
    expect(reviewsOf('output_schema')).not.toEqual([])
  })
})

describe('security', () => {
  const components = {
    securitySchemes: {
      oauth: { type: 'oauth2', flows: {} },
      key: { type: 'apiKey', in: 'header', name: 'X-Key' },
      jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      basic: { type: 'http', scheme: 'basic' },
    },
  }

  test.each([
    ['oauth', 'oauth2'],
    ['key', 'api_key'],
    ['jwt', 'signed_jwt'],
    ['basic', 'api_key'],
  ])('%s becomes %s', async (name, auth) => {
    const { manifest } = await draft(aDocument({ components, security: [{ [name]: [] }] }))

    expect(manifest.interfaces).toMatchObject([{ protocol: 'HTTP', auth }])
  })

  test('scopes become permissions, normalized to the manifest syntax', async () => {
    const { capability, reviewsOf } = await importOperation(
      'get',
      { security: [{ oauth: ['pets:read', 'https://x/Auth'] }] },
      { components },
    )

    expect(capability.permissions).toEqual(['pets:read', 'https:.x.auth'])
    expect(reviewsOf('permissions')).toEqual([expect.stringMatching(/https:\/\/x\/Auth/)])
  })

  test('a scheme without scopes gets an invented permission, with a review', async () => {
    const { capability, reviewsOf } = await importOperation(
      'delete',
      { security: [{ key: [] }] },
      { components },
    )

    expect(capability.permissions).toEqual(['pet-shop.write'])
    expect(reviewsOf('permissions')).toEqual([expect.stringMatching(/invented/)])
  })

  test('an operation may override the security of the document with none', async () => {
    const { capability } = await importOperation(
      'get',
      { security: [] },
      { components, security: [{ key: [] }] },
    )

    expect(capability).not.toHaveProperty('permissions')
  })

  test('secrets in the document are not copied', async () => {
    const key = `sk-live-${'a1'.repeat(12)}`
    const { yaml, reviews } = await draft(
      aDocument({
        servers: [{ url: 'https://me:hunter22@pets.example.com' }],
        paths: {
          '/a': {
            get: anOperation({
              description: `Send the key ${key} with it.`,
              parameters: [
                { name: 'password', in: 'query', schema: { type: 'string', default: 'hunter22' } },
              ],
            }),
          },
        },
      }),
    )

    expect(yaml).not.toMatch(/hunter22|sk-live/)
    expect(reviews.filter(({ message }) => message.includes('secret'))).toHaveLength(2)
  })
})

describe('the generated YAML', () => {
  test('has every review as a comment above its field', async () => {
    const { yaml, reviews } = await draft(aDocument())

    expect(yaml).toMatch(/# review: guessed from GET\.\n +side_effect_level: none\n/)
    expect(yaml.match(/# review: /g)).toHaveLength(reviews.length)
    expect(yaml.endsWith('\n')).toBe(true)
  })

  test('parses back to the same valid manifest for any document', async () => {
    const words = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.constantFrom('off', 'y', '1.0'),
    )
    const schema = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        fc.record({
          type: fc.constantFrom('string', 'integer', 'array', 'any'),
          nullable: fc.boolean(),
        }),
        fc.constantFrom({}, { $ref: '#/components/schemas/A' }, { $ref: '#/components/schemas/B' }),
        fc.record({
          properties: fc.dictionary(
            words.filter((name) => name !== '__proto__'),
            tie('any'),
          ),
          description: words,
        }),
        fc.record({ allOf: fc.array(tie('any'), { minLength: 1, maxLength: 2 }) }),
      ),
    })).any
    const operation = fc.record({
      operationId: words,
      summary: words,
      parameters: fc.array(
        fc.record({
          name: words.filter((name) => name !== '__proto__'),
          in: fc.constant('query'),
          schema,
        }),
        { maxLength: 3 },
      ),
      responses: schema.map((one) => ({ 200: anAnswer(one) })),
    })
    const documents = fc
      .record({
        openapi: fc.constantFrom('3.0.3', '3.1.0'),
        title: words,
        version: words,
        operations: fc.dictionary(fc.constantFrom('get', 'post', 'delete'), operation, {
          minKeys: 1,
        }),
        a: schema,
        b: schema,
      })
      .map(({ openapi, title, version, operations, a, b }) =>
        aDocument({
          openapi,
          info: { title, version },
          paths: { '/x': operations },
          components: {
            schemas: {
              A: { type: 'object', properties: { a } },
              B: { type: 'object', properties: { b } },
            },
          },
        }),
      )
    await fc.assert(
      fc.asyncProperty(documents, async (document) => {
        const { yaml, manifest } = await draft(document)
        const read = { source: 's', file: 'agent.yaml', extensions: [], strict: true }
        const { diagnostics } = readManifest(yaml, read)

        expect(manifestShape.parse(readYaml(yaml, 'agent.yaml').value)).toEqual(manifest)
        expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
        expect((await draft(document)).yaml).toBe(yaml)
      }),
      { numRuns: amount(8, 30) },
    )
  })
})

test('a damaged document is rejected with a line number or gives a valid draft', async () => {
  const document = aDocument({
    security: [{ key: ['a'] }],
    paths: {
      '/a': {
        post: anOperation({
          parameters: [{ name: 'x', in: 'query', schema: { type: 'string' } }],
          requestBody: {
            content: { 'application/json': { schema: { $ref: '#/components/schemas/A' } } },
          },
        }),
      },
    },
    components: {
      securitySchemes: { key: { type: 'apiKey' } },
      schemas: {
        A: { type: 'object', required: ['a'], properties: { a: { type: ['string', 'null'] } } },
      },
    },
  })
  const junk = fc.constantFrom<unknown>(
    null,
    1,
    'x',
    true,
    [],
    {},
    [null],
    { $ref: '#' },
    { $ref: '#/paths' },
  )
  const paths = pathsIn(document)
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), junk, async (path, value) => {
      const reading = await read(JSON.stringify(damage(document, path, value)), 'api.json')

      if (isFault(reading)) expect(reading.fault[0]?.at).toMatch(/^api\.json:1:\d+$/)
      else expect(manifestShape.parse(readYaml(reading.yaml, 'x').value)).toEqual(reading.manifest)
    }),
    { numRuns: amount(80, 300) },
  )
})

const pathsIn = (value: unknown, path: readonly string[] = []): (readonly string[])[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, item]) => [
        [...path, key],
        ...pathsIn(item, [...path, key]),
      ])
    : []

function damage(document: Fields, path: readonly string[], value: unknown): Fields {
  const copy = structuredClone(document)
  let node = copy as Record<string, unknown>
  for (const step of path.slice(0, -1)) node = node[step] as Record<string, unknown>
  node[path.at(-1) ?? ''] = value
  return copy
}

describe('invalid documents are rejected with a line number', () => {
  test.each([
    ['broken text', 'openapi: 3.1.0\npaths: {\n', /^api\.yaml:3:1 /],
    ['another format', 'swagger: "1.2"\n', /^api\.yaml:1:1 .*openapi.*missing/],
    ['a later version', 'openapi: 4.0.0\n', /^api\.yaml:1:10 .*4\.0\.0/],
    ['something else', 'hello: world\n', /^api\.yaml:1:1 .*not an OpenAPI/],
    ['a list', '- 1\n', /^api\.yaml:1:1 .*not an OpenAPI/],
    ['no operations', 'openapi: 3.1.0\ninfo: {}\npaths: {}\n', /^api\.yaml:3:8 .*no operations/],
    [
      'a dangling reference',
      'openapi: 3.1.0\npaths:\n  /a:\n    get:\n      parameters:\n        - $ref: "#/components/parameters/X"\n',
      /^api\.yaml:6:17 .*does not exist/,
    ],
    [
      'a reference cycle',
      'openapi: 3.1.0\npaths:\n  /a:\n    get: { parameters: [{ $ref: "#/x" }] }\nx: { $ref: "#/x" }\n',
      /^api\.yaml:5:12 .*itself/,
    ],
    [
      'an unknown security scheme',
      'openapi: 3.1.0\npaths:\n  /a:\n    get: {}\nsecurity:\n  - nobody: []\n',
      /^api\.yaml:6:13 .*nobody/,
    ],
  ])('%s', async (_, text, pattern) => {
    expect((await faultsOf(text)).map(({ at, message }) => `${at} ${message}`)).toEqual([
      expect.stringMatching(pattern),
    ])
  })
})
