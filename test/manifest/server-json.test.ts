import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toServerJson } from '../../src/sources/manifest/export/to-server-json.ts'
import { readManifest } from '../../src/sources/manifest/reading/read-manifest.ts'
import { aManifest, aManifestCapability, anInterface } from '../support/a-parsed-manifest.ts'

const options = { namespace: 'com.example', digest: `sha256:${'0'.repeat(64)}` }

function exported(manifest = aManifest(), wishes = options) {
  const result = toServerJson(manifest, wishes)
  if ('fault' in result) throw new Error(result.fault)
  return result
}

/** What schema 2025-12-11 of the registry asks of an entry without packages. */
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
  // Stricter than the registry: nothing may be there that it does not know.
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
  test('names the server, where it is, and the manifest it was made of', () => {
    const { json } = exported(
      aManifest({
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

  test('a long description is cut to 100 characters, and that is said', () => {
    const description = 'A sentence that goes on and on. '.repeat(10).trim()
    const { json, warnings } = exported(aManifest({ identity: { description } }))

    expect(String(json.description).length).toBeLessThanOrEqual(100)
    expect(json.description).toMatch(/ (and|on|goes|on\.|A|that|sentence)…$/)
    expect(warnings).toContainEqual({
      path: '/identity/description',
      message: expect.stringMatching(`${description.length}.*100`),
    })
  })

  test('only MCP over http is a remote; the others are said', () => {
    const { json, warnings } = exported(
      aManifest({
        interfaces: [
          anInterface({ protocol: 'HTTP' }),
          anInterface({ endpoint: './local' }),
          anInterface({ endpoint: 'http://localhost:4747/mcp' }),
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

  test('without any remote it says that nobody can connect', () => {
    const { json, warnings } = exported(
      aManifest({ interfaces: [anInterface({ protocol: 'A2A' })] }),
    )

    expect(json).not.toHaveProperty('remotes')
    expect(warnings).toContainEqual({
      path: '/interfaces',
      message: expect.stringMatching(/connect/),
    })
  })

  test('what has no field in it is a warning with its path', () => {
    const { warnings } = exported(aManifest({ identity: { tags: ['money'] } }))
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

  test('paths are those of the file, where items before were left out', () => {
    const text = JSON.stringify({
      ...aManifest(),
      interfaces: [{ protocol: 'nonsense' }, anInterface({ endpoint: './local' })],
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
    'a namespace of %j is refused with an example',
    (namespace) => {
      expect(toServerJson(aManifest(), { ...options, namespace })).toEqual({
        fault: expect.stringMatching(/com\.example/),
      })
    },
  )

  test('an id too long for a registry is refused, not cut', () => {
    const identity = { id: 'a'.repeat(200) }

    expect(toServerJson(aManifest({ identity }), options)).toHaveProperty('fault')
  })

  test('whatever the manifest says, the entry is valid, and the same every time', () => {
    const words = fc.string({ unit: 'grapheme', minLength: 12, maxLength: 300 })
    const manifests = fc
      .record({
        description: words,
        auth: fc.constantFrom('none', 'api_key', 'oauth2', 'mTLS', 'signed_jwt'),
        protocol: fc.constantFrom('MCP', 'A2A', 'HTTP'),
        endpoint: fc.oneof(fc.webUrl(), fc.constantFrom('./x', 'stdio:x', 'http://')),
      })
      .map(({ description, auth, protocol, endpoint }) =>
        aManifest({
          identity: { description, name: description },
          interfaces: [
            anInterface({ auth, protocol, endpoint: endpoint.replaceAll(/[{}|^`"<>\\]/g, '') }),
          ],
          capabilities: [aManifestCapability()],
        }),
      )
    fc.assert(
      fc.property(manifests, (manifest) => {
        const { json } = exported(manifest)

        expect(isValid(json) ? [] : isValid.errors).toEqual([])
        expect(JSON.stringify(exported(structuredClone(manifest)).json)).toBe(JSON.stringify(json))
      }),
    )
  })
})
