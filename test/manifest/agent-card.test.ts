import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { toAgentCard } from '../../src/sources/manifest/export/to-agent-card.ts'
import type { ManifestInterface } from '../../src/sources/manifest/reading/manifest-shape.ts'
import {
  aParsedCapability,
  aParsedInterface,
  aParsedManifest,
} from '../support/a-parsed-manifest.ts'

const anA2aInterface = (parts: Partial<ManifestInterface> = {}) =>
  aParsedInterface({ protocol: 'A2A', endpoint: 'https://agents.example.com/a2a', ...parts })

function createCard(manifest = aParsedManifest({ interfaces: [anA2aInterface()] })) {
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

/** The AgentCard message of A2A 1.0 in ProtoJSON, limited to the fields we write. */
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
  test('lists the A2A interfaces, and the A2A capabilities as skills', () => {
    const { json } = createCard(
      aParsedManifest({
        identity: { tags: ['money'] },
        interfaces: [aParsedInterface(), anA2aInterface()],
        capabilities: [
          aParsedCapability(),
          aParsedCapability({ id: 'elsewhere', protocols: ['MCP'] }),
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
  ])(
    '%s becomes a security scheme, a card requirement and a skill requirement',
    (auth, securitySchemes) => {
      const { json } = createCard(
        aParsedManifest({
          interfaces: [anA2aInterface({ auth, privileged: true, permissions: ['a2a.use'] })],
          capabilities: [aParsedCapability({ permissions: ['invoices.read'] })],
        }),
      )
      const [name = ''] = Object.keys(securitySchemes)

      expect(isValid(json) ? [] : isValid.errors).toEqual([])
      expect(json).toMatchObject({
        securitySchemes,
        securityRequirements: [{ schemes: { [name]: { list: ['a2a.use'] } } }],
        skills: [{ securityRequirements: [{ schemes: { [name]: { list: ['invoices.read'] } } }] }],
      })
    },
  )

  test('warns with a path about values that are assumed or dropped', () => {
    const { warnings } = createCard(
      aParsedManifest({ interfaces: [anA2aInterface({ auth: 'oauth2' })] }),
    )
    const messageByPath = Object.fromEntries(warnings.map(({ path, message }) => [path, message]))

    expect(messageByPath['/interfaces/0/protocol']).toMatch(/JSONRPC.*assumed/)
    expect(messageByPath['/interfaces/0/auth']).toMatch(/authorization server/)
    expect(messageByPath).toHaveProperty(['/capabilities/0/input_schema'])
    expect(messageByPath).toHaveProperty(['/trust'])
  })

  test('lists the auth methods of several interfaces as alternative requirements', () => {
    const { json, warnings } = createCard(
      aParsedManifest({
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

  test('warns about permissions without an auth scheme', () => {
    const { warnings } = createCard(
      aParsedManifest({
        interfaces: [anA2aInterface()],
        capabilities: [aParsedCapability({ permissions: ['invoices.read'] })],
      }),
    )

    expect(warnings.map(({ path }) => path)).toContain('/capabilities/0/permissions')
  })

  test.each([
    ['no A2A interface', aParsedInterface()],
    ['only a relative URL', anA2aInterface({ endpoint: './a2a' })],
  ])('with %s is not created, and the fault says what to add', (_, manifestInterface) => {
    expect(toAgentCard(aParsedManifest({ interfaces: [manifestInterface] }))).toEqual({
      fault: expect.stringMatching(/invoice-clerk.*A2A.*interfaces/),
    })
  })
})
