import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { toAgentCard } from '../../src/sources/manifest/export/to-agent-card.ts'
import type { ManifestInterface } from '../../src/sources/manifest/reading/manifest-shape.ts'
import { aManifest, aManifestCapability, anInterface } from '../support/a-parsed-manifest.ts'

const anA2aInterface = (parts: Partial<ManifestInterface> = {}) =>
  anInterface({ protocol: 'A2A', endpoint: 'https://agents.example.com/a2a', ...parts })

function carded(manifest = aManifest({ interfaces: [anA2aInterface()] })) {
  const result = toAgentCard(manifest)
  if ('fault' in result) throw new Error(result.fault)
  return result
}

const strings = { type: 'array', items: { type: 'string' } }
const record = (properties: object, required = Object.keys(properties)) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
})
const requirements = {
  type: 'array',
  items: record({
    schemes: { type: 'object', additionalProperties: record({ list: strings }) },
  }),
}
const text = { type: 'string', minLength: 1 }

/** The message AgentCard of A2A 1.0 as ProtoJSON writes it, less what we never write. */
const isValid = new Ajv2020({ allErrors: true }).compile(
  record(
    {
      name: text,
      description: text,
      version: text,
      supportedInterfaces: {
        type: 'array',
        minItems: 1,
        items: record({
          url: { type: 'string', pattern: '^https?://' },
          protocolBinding: { enum: ['JSONRPC', 'GRPC', 'HTTP+JSON'] },
          protocolVersion: { const: '1.0' },
        }),
      },
      capabilities: record({ streaming: { type: 'boolean' } }, []),
      defaultInputModes: strings,
      defaultOutputModes: strings,
      skills: {
        type: 'array',
        items: record(
          {
            id: text,
            name: text,
            description: text,
            tags: strings,
            securityRequirements: requirements,
          },
          ['id', 'name', 'description', 'tags'],
        ),
      },
      securitySchemes: {
        type: 'object',
        additionalProperties: {
          oneOf: [
            record({
              apiKeySecurityScheme: record({ location: { enum: ['header'] }, name: text }),
            }),
            record({
              httpAuthSecurityScheme: record(
                { scheme: text, bearerFormat: text, description: text },
                ['scheme'],
              ),
            }),
            record({ mtlsSecurityScheme: record({}) }),
          ],
        },
      },
      securityRequirements: requirements,
    },
    [
      'name',
      'description',
      'version',
      'supportedInterfaces',
      'capabilities',
      'defaultInputModes',
      'defaultOutputModes',
      'skills',
    ],
  ),
)

describe('an agent card', () => {
  test('has the A2A interfaces, and the capabilities offered over A2A as skills', () => {
    const { json } = carded(
      aManifest({
        identity: { tags: ['money'] },
        interfaces: [anInterface(), anA2aInterface()],
        capabilities: [
          aManifestCapability(),
          aManifestCapability({ id: 'elsewhere', protocols: ['MCP'] }),
        ],
      }),
    )

    expect(json).toEqual({
      name: 'Invoice clerk',
      description: 'Reads invoices and pays them.',
      version: '1.4.0',
      supportedInterfaces: [
        {
          url: 'https://agents.example.com/a2a',
          protocolBinding: 'JSONRPC',
          protocolVersion: '1.0',
        },
      ],
      capabilities: {},
      defaultInputModes: ['application/json'],
      defaultOutputModes: ['application/json'],
      skills: [
        {
          id: 'read-invoice',
          name: 'Read an invoice',
          description: 'Reads what an invoice says.',
          tags: ['retrieval', 'money'],
        },
      ],
    })
  })

  test.each<[ManifestInterface['auth'], object]>([
    ['api_key', { apiKey: { apiKeySecurityScheme: { location: 'header' } } }],
    ['oauth2', { oauth2: { httpAuthSecurityScheme: { scheme: 'Bearer' } } }],
    ['signed_jwt', { signedJwt: { httpAuthSecurityScheme: { bearerFormat: 'JWT' } } }],
    ['mTLS', { mutualTls: { mtlsSecurityScheme: {} } }],
  ])('%s becomes a scheme, a requirement, and what a skill needs', (auth, securitySchemes) => {
    const { json } = carded(
      aManifest({
        interfaces: [anA2aInterface({ auth, privileged: true, permissions: ['a2a.use'] })],
        capabilities: [aManifestCapability({ permissions: ['invoices.read'] })],
      }),
    )
    const [name = ''] = Object.keys(securitySchemes)

    expect(isValid(json) ? [] : isValid.errors).toEqual([])
    expect(json).toMatchObject({
      securitySchemes,
      securityRequirements: [{ schemes: { [name]: { list: ['a2a.use'] } } }],
      skills: [{ securityRequirements: [{ schemes: { [name]: { list: ['invoices.read'] } } }] }],
    })
  })

  test('what the manifest does not say is a guess with a path', () => {
    const { warnings } = carded(aManifest({ interfaces: [anA2aInterface({ auth: 'oauth2' })] }))
    const told = Object.fromEntries(warnings.map(({ path, message }) => [path, message]))

    expect(told['/interfaces/0/protocol']).toMatch(/JSONRPC.*assumed/)
    expect(told['/interfaces/0/auth']).toMatch(/authorization server/)
    expect(told).toHaveProperty(['/capabilities/0/input_schema'])
    expect(told).toHaveProperty(['/trust'])
  })

  test('of several interfaces with different proofs, each is one way in', () => {
    const { json, warnings } = carded(
      aManifest({
        interfaces: [anA2aInterface(), anA2aInterface({ auth: 'mTLS', endpoint: 'http://other' })],
      }),
    )

    expect(isValid(json) ? [] : isValid.errors).toEqual([])
    expect(json.securityRequirements).toEqual([
      { schemes: {} },
      { schemes: { mutualTls: { list: [] } } },
    ])
    expect(warnings.map(({ path }) => path)).toContain('/interfaces')
  })

  test('permissions that no proof can carry are said', () => {
    const { warnings } = carded(
      aManifest({
        interfaces: [anA2aInterface()],
        capabilities: [aManifestCapability({ permissions: ['invoices.read'] })],
      }),
    )

    expect(warnings.map(({ path }) => path)).toContain('/capabilities/0/permissions')
  })

  test.each([
    ['no A2A interface', anInterface()],
    ['only a relative address', anA2aInterface({ endpoint: './a2a' })],
  ])('with %s there is none, and the fault says what to add', (_, one) => {
    expect(toAgentCard(aManifest({ interfaces: [one] }))).toEqual({
      fault: expect.stringMatching(/invoice-clerk.*A2A.*interfaces/),
    })
  })
})
