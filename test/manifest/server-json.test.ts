import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toServerJson } from '../../src/sources/manifest/export/to-server-json.ts'
import { readManifest } from '../../src/sources/manifest/reading/read-manifest.ts'
import {
  aParsedCapability,
  aParsedInterface,
  aParsedManifest,
} from '../support/a-parsed-manifest.ts'

const options = { namespace: 'com.example', digest: `sha256:${'0'.repeat(64)}` }

function createServerJson(manifest = aParsedManifest(), settings = options) {
  const result = toServerJson(manifest, settings)
  if ('fault' in result) throw new Error(result.fault)
  return result
}

/** Schema 2025-12-11 of the registry for an entry without packages. */
const header = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string' },
    value: { type: 'string' },
    isRequired: { type: 'boolean' },
    isSecret: { type: 'boolean' },
    variables: { type: 'object', additionalProperties: { type: 'object' } },
  },
}
const isValid = new Ajv2020({ allErrors: true }).compile({
  type: 'object',
  required: ['name', 'description', 'version'],
  // Stricter than the registry schema: unknown fields are rejected.
  additionalProperties: false,
  properties: {
    $schema: {
      const: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    },
    name: {
      type: 'string',
      minLength: 3,
      maxLength: 200,
      pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$',
    },
    title: { type: 'string', minLength: 1, maxLength: 100 },
    description: { type: 'string', minLength: 1, maxLength: 100 },
    version: { type: 'string', maxLength: 255 },
    repository: {
      type: 'object',
      required: ['url', 'source'],
      properties: { url: { type: 'string' }, source: { type: 'string' } },
    },
    remotes: {
      type: 'array',
      items: {
        type: 'object',
        required: ['type', 'url'],
        properties: {
          type: { enum: ['streamable-http', 'sse'] },
          url: { type: 'string', pattern: '^https?://[^\\s]+$' },
          headers: { type: 'array', items: header },
        },
      },
    },
    _meta: { type: 'object' },
  },
})

describe('server.json', () => {
  test('has name, repository, remotes and the manifest digest', () => {
    const { json } = createServerJson(
      aParsedManifest({
        provenance: {
          created_at: '2026-01-01T00:00:00Z',
          source: 'first_party',
          source_repo: 'https://github.com/acme/clerk',
        },
      }),
    )

    expect(json).toEqual({
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      name: 'com.example/invoice-clerk',
      title: 'Invoice clerk',
      description: 'Reads invoices and pays them.',
      version: '1.4.0',
      repository: { url: 'https://github.com/acme/clerk', source: 'github' },
      remotes: [{ type: 'streamable-http', url: 'https://agents.example.com/mcp' }],
      _meta: {
        'io.modelcontextprotocol.registry/publisher-provided': {
          'dev.drawbridge/manifest': { digest: options.digest, schemaVersion: '0.1' },
        },
      },
    })
  })

  test('a long description is truncated to 100 characters, with a warning', () => {
    const description = 'A sentence that goes on and on. '.repeat(10).trim()
    const { json, warnings } = createServerJson(aParsedManifest({ identity: { description } }))

    expect(String(json.description).length).toBeLessThanOrEqual(100)
    expect(json.description).toMatch(/ (and|on|goes|on\.|A|that|sentence)…$/)
    expect(warnings).toContainEqual({
      path: '/identity/description',
      message: expect.stringMatching(`${description.length}.*100`),
    })
  })

  test('only MCP over http(s) is a remote; other interfaces give a warning', () => {
    const { json, warnings } = createServerJson(
      aParsedManifest({
        interfaces: [
          aParsedInterface({ protocol: 'HTTP' }),
          aParsedInterface({ endpoint: './local' }),
          aParsedInterface({ endpoint: 'http://localhost:4747/mcp' }),
        ],
      }),
    )

    expect(json.remotes).toEqual([{ type: 'streamable-http', url: 'http://localhost:4747/mcp' }])
    expect(warnings.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        '/interfaces/0/protocol',
        '/interfaces/1/endpoint',
        '/interfaces/2/endpoint',
      ]),
    )
  })

  test('a public host whose name begins like a loopback host gives no warning', () => {
    const endpoints = ['https://localhost.acme.example/mcp', 'https://127.acme.example/mcp']
    const { warnings } = createServerJson(
      aParsedManifest({ interfaces: endpoints.map((endpoint) => aParsedInterface({ endpoint })) }),
    )

    expect(warnings.filter(({ path }) => path.endsWith('/endpoint'))).toEqual([])
  })

  test('without a remote there is a warning that clients cannot connect', () => {
    const { json, warnings } = createServerJson(
      aParsedManifest({ interfaces: [aParsedInterface({ protocol: 'A2A' })] }),
    )

    expect(json).not.toHaveProperty('remotes')
    expect(warnings).toContainEqual({
      path: '/interfaces',
      message: expect.stringMatching(/connect/),
    })
  })

  test('fields without a counterpart give a warning with their path', () => {
    const { warnings } = createServerJson(aParsedManifest({ identity: { tags: ['money'] } }))
    const paths = warnings.map(({ path }) => path)

    expect(paths).toEqual([
      '/identity/owner',
      '/identity/type',
      '/identity/tags',
      '/capabilities',
      '/interfaces/0/name',
      '/interfaces/0/privileged',
      '/trust',
      '/runtime',
    ])
  })

  test('warning paths are those of the file, even if earlier items were omitted', () => {
    const text = JSON.stringify({
      ...aParsedManifest(),
      interfaces: [{ protocol: 'nonsense' }, aParsedInterface({ endpoint: './local' })],
    })
    const read = { source: 's', file: 'agent.yaml', extensions: [], strict: true }
    const { manifest } = readManifest(text, read)
    const result = manifest && toServerJson(manifest, options)

    expect(result).toMatchObject({
      warnings: expect.arrayContaining([
        { path: '/interfaces/1/endpoint', message: expect.any(String) },
      ]),
    })
  })

  test.each(['example', 'com/example', 'com..example', '-com.example', ''])(
    'the namespace %j is refused with an example',
    (namespace) => {
      expect(toServerJson(aParsedManifest(), { ...options, namespace })).toEqual({
        fault: expect.stringMatching(/com\.example/),
      })
    },
  )

  test('an id that is too long for the registry is refused, not truncated', () => {
    const identity = { id: 'a'.repeat(200) }

    expect(toServerJson(aParsedManifest({ identity }), options)).toHaveProperty('fault')
  })

  test('the entry is valid and deterministic for any manifest', () => {
    const words = fc.string({ unit: 'grapheme', minLength: 12, maxLength: 300 })
    const manifests = fc
      .record({
        description: words,
        auth: fc.constantFrom('none', 'api_key', 'oauth2', 'mTLS', 'signed_jwt'),
        protocol: fc.constantFrom('MCP', 'A2A', 'HTTP'),
        endpoint: fc.oneof(fc.webUrl(), fc.constantFrom('./x', 'stdio:x', 'http://')),
      })
      .map(({ description, auth, protocol, endpoint }) =>
        aParsedManifest({
          identity: { description, name: description },
          interfaces: [
            aParsedInterface({
              auth,
              protocol,
              endpoint: endpoint.replaceAll(/[{}|^`"<>\\]/g, ''),
            }),
          ],
          capabilities: [aParsedCapability()],
        }),
      )
    fc.assert(
      fc.property(manifests, (manifest) => {
        const { json } = createServerJson(manifest)

        expect(isValid(json) ? [] : isValid.errors).toEqual([])
        expect(JSON.stringify(createServerJson(structuredClone(manifest)).json)).toBe(
          JSON.stringify(json),
        )
      }),
    )
  })
})
