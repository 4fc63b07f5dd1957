import { expect, test } from 'vitest'
import {
  createDrawbridge,
  type DefinitionOptions,
  type DrawbridgeOptions,
  defineTool,
  definitionSource,
  type ManifestSourceOptions,
  manifestSource,
  type OpenApiSourceOptions,
  openApiSource,
  recordSource,
  type ServiceOptions,
  SetupError,
  serviceSource,
  z,
} from '../../src/index.ts'

const ping = defineTool({
  name: 'ping',
  description: 'Answers.',
  category: 'analysis',
  schema: z.object({}),
  execute: () => 'pong',
})

test.each<[string, object, RegExp]>([
  ['a misspelt name', { sources: [], polcy: {} }, /"polcy".*"policy"/],
  ['no sources', {}, /"sources" must be an array/],
  ['a definition as a source', { sources: [ping] }, /sources\[0\].*definitionSource/],
  ['an empty object as a source', { sources: [{}] }, /sources\[0\]/],
  ['a misspelt key of the policy', { sources: [], policy: { ruls: [] } }, /policy: .*"ruls"/],
])('options with %s are refused with a SetupError', (_, options, message) => {
  const create = () => createDrawbridge(options as DrawbridgeOptions)

  expect(create).toThrow(SetupError)
  expect(create).toThrow(message)
})

const toSecrets = (secret: object) => ({ secrets: { key: secret } })

test.each<[string, (options: object) => unknown, object, RegExp]>([
  [
    'definitionSource',
    (options) => definitionSource([ping], options as DefinitionOptions),
    { categoris: {} },
    /"categoris".*"categories"/,
  ],
  [
    'manifestSource',
    (options) => manifestSource('x', options as ManifestSourceOptions),
    { sercets: {} },
    /"sercets".*"secrets"/,
  ],
  [
    'serviceSource',
    (options) => serviceSource({}, options as ServiceOptions),
    { visibilty: 'stable' },
    /"visibilty".*"visibility"/,
  ],
  ['recordSource', (options) => recordSource('x.db', options), { mont: '/mcp' }, /"mont".*"mount"/],
  [
    'openApiSource',
    (options) => openApiSource('x', options as OpenApiSourceOptions),
    { exclde: ['a'] },
    /"exclde".*"exclude"/,
  ],
  [
    'openApiSource',
    (options) => openApiSource('x', options as OpenApiSourceOptions),
    { exclude: [{ tags: 'a' }] },
    /exclude\.0/,
  ],
  [
    'openApiSource',
    (options) => openApiSource('x', options as OpenApiSourceOptions),
    toSecrets({ host: 'a', token: 'b' }),
    /secrets\.key.*\{ host, value \}/,
  ],
  [
    'openApiSource',
    (options) => openApiSource('x', options as OpenApiSourceOptions),
    toSecrets({ host: 'a', value: 'env://B' }),
    /process\.env/,
  ],
])('%s refuses %j', (_, create, options, message) => {
  expect(() => create(options)).toThrow(SetupError)
  expect(() => create(options)).toThrow(message)
})

test('a pattern among the selectors of openApiSource is one for ids, as in drawbridge.yaml', async () => {
  const source = openApiSource('examples/openapi/workshop.yaml', { exclude: ['*Bicycle*'] })

  const { capabilities } = await source.read()

  expect(capabilities.map(({ name }) => name)).toEqual(['orderRepair'])
})
