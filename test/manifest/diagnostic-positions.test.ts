import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createDrawbridge, type Diagnostic, manifestSource } from '../../src/index.ts'
import type { ManifestSourceOptions } from '../../src/runtime/open-manifest.ts'
import {
  type DiagnosticCode,
  diagnosticCodes,
} from '../../src/sources/manifest/diagnostic-codes.ts'
import { anAgentOf2026 } from '../support/a-2026-agent.ts'
import {
  aManifest,
  anInterface,
  anInternalInterface,
  answering,
  aWritingCapability,
  type Fields,
  type ManifestData,
  toYaml,
} from '../support/a-manifest.ts'
import { aProject } from '../support/a-project.ts'
import { aRawServer, reply } from '../support/a-raw-server.ts'
import { drawbridge } from '../support/run-cli.ts'

/** A manifest with a problem, and the line that the diagnostic is about. */
interface Example {
  readonly manifest: ManifestData | string
  readonly options?: ManifestSourceOptions
  /** A part of the line at which it is reported. */
  readonly line: RegExp
  readonly isLive?: true
}

const composition = (type: string, ...refs: string[]) => ({
  type,
  deterministic: true,
  steps: refs.map((capability_ref, index) => ({
    id: `s${index}`,
    capability_ref,
    on_failure: 'abort',
  })),
})
const privileged = { privileged: true, permissions: ['desk.enter'] }
const overHttp = (endpoint: string, parts: Fields = {}) =>
  aManifest({
    capabilities: [{ protocols: ['MCP', 'HTTP'] }],
    interfaces: [anInterface({ protocol: 'HTTP', endpoint, auth: 'none', ...parts })],
  })
const overMcp = (endpoint: string, parts: Fields = {}) =>
  aManifest({
    capabilities: [{ protocols: ['MCP'], ...parts }],
    interfaces: [anInterface({ endpoint, auth: 'none' })],
  })
const anAgent = () =>
  anAgentOf2026((server) => {
    server.registerTool('look-up-order', {}, async () => ({ content: [] }))
  })
const answeringWith = async (status: number) =>
  (await aRawServer((socket) => reply(socket, status))).url

/** By the code that each one shows. Those of handlers are tested below, with modules. */
const examples: Record<
  Exclude<DiagnosticCode, 'handlers_broken' | 'handler_unmatched' | 'handler_invalid'>,
  () => Example | Promise<Example>
> = {
  manifest_unreadable: () => ({ manifest: 'schema_version: "0.1"\n- 1\n', line: /- 1/ }),
  yaml_ambiguous: () => ({
    manifest: toYaml(aManifest()).replace('"strict"', 'off'),
    line: /injection_protection/,
  }),
  manifest_invalid: () => ({ manifest: aManifest({ identity: { type: 'robot' } }), line: /robot/ }),
  field_unknown: () => ({ manifest: aManifest({ more: { colour: 1 } }), line: /colour/ }),
  field_dropped: () => ({
    manifest: aManifest({ capabilities: [{}, { id: 'inner', protocols: ['INTERNAL'] }] }),
    line: /inner/,
  }),
  secret_inside: () => ({
    manifest: aManifest({ capabilities: [{ name: 'sk_live_4eC39HqLyjWDarjtT1zdp7dc' }] }),
    line: /sk_live/,
  }),
  id_duplicate: () => ({ manifest: aManifest({ capabilities: [{}, {}] }), line: /look-up-order/ }),
  id_long: () => ({
    manifest: aManifest({ capabilities: [{ id: 'a'.repeat(65) }] }),
    line: /a{65}/,
  }),
  interface_missing: () => ({
    manifest: aManifest({ capabilities: [{ protocols: ['MCP', 'A2A'] }] }),
    line: /A2A/,
  }),
  permission_undeclared: () => ({
    manifest: aManifest({ capabilities: [{ permissions: ['orders.read'] }] }),
    line: /orders\.read/,
  }),
  effect_unguarded: () => ({
    manifest: aManifest({ capabilities: [aWritingCapability({ permissions: [] })] }),
    line: /refund-order/,
  }),
  effect_ungoverned: () => ({
    manifest: aManifest({
      capabilities: [aWritingCapability()],
      trust: { minimum_trust_score: 2 },
    }),
    line: /refund-order/,
  }),
  key_needless: () => ({
    manifest: aManifest({ capabilities: [{ idempotency_key_required: true }] }),
    line: /idempotency_key_required/,
  }),
  cost_unbudgeted: () => ({
    manifest: aManifest({
      requirements: { budget: { monthly_limit: 1 } },
      capabilities: [{ cost: { estimated_cost: 1, unit: 'tokens' } }],
    }),
    line: /tokens/,
  }),
  input_not_object: () => ({
    manifest: aManifest({ capabilities: [{ input_schema: { type: 'string' } }] }),
    line: /string/,
  }),
  schema_ambiguous: () => ({
    manifest: aManifest({ capabilities: [{ input_schema: { $ref_uri: 'a', type: 'object' } }] }),
    line: /\$ref_uri/,
  }),
  type_unknown: () => ({
    manifest: aManifest({
      capabilities: [{ input_schema: { type: 'object', properties: { a: { type: 'strng' } } } }],
    }),
    line: /strng/,
  }),
  schema_unusable: () => ({
    manifest: aManifest({
      capabilities: [
        { input_schema: { type: 'object', properties: { a: { pattern: '(?<=a)b' } } } },
      ],
    }),
    line: /type: "object"/,
  }),
  schema_inexact: () => ({
    manifest: aManifest({
      capabilities: [
        { input_schema: { type: 'object', properties: { a: { exclusiveMinimum: true } } } },
      ],
    }),
    line: /type: "object"/,
  }),
  reference_unresolved: () => ({
    manifest: aManifest({ capabilities: [{ input_schema: { $ref_uri: 'gone.json' } }] }),
    line: /gone\.json/,
  }),
  route_missing: () => ({
    manifest: aManifest({ interfaces: [anInternalInterface()] }),
    options: { handlers: {} },
    line: /look-up-order/,
  }),
  privilege_unproved: () => ({
    manifest: aManifest({ interfaces: [anInternalInterface(privileged)] }),
    line: /auth/,
  }),
  egress_refused: () => ({
    manifest: overHttp('http://169.254.169.254/latest'),
    options: { handlers: {} },
    line: /169\.254/,
  }),
  secret_unbound: () => ({
    manifest: overHttp('https://a.example', { auth: 'api_key' }),
    options: { handlers: {} },
    line: /api_key/,
  }),
  secret_unset: () => ({
    manifest: {
      ...overHttp('https://a.example', { auth: 'api_key' }),
      requirements: { secrets: [{ id: 'agents', secret_ref: 'vault://a' }] },
    },
    options: { handlers: {} },
    line: /api_key/,
  }),
  secret_in_plain_text: () => ({
    manifest: {
      ...overHttp('http://a.example', { auth: 'api_key' }),
      requirements: { secrets: [{ id: 'agents', secret_ref: 'env://A' }] },
    },
    options: { handlers: {}, resolveSecret: async () => 'a' },
    line: /http:\/\/a\.example/,
  }),
  secret_binding: () => ({
    manifest: aManifest(),
    options: { secrets: { gone: { id: 'a', host: 'b' } } },
    line: /name: "agents"/,
  }),
  probe_invalid: () => ({
    manifest: aManifest(),
    options: { probes: { gone: '/health' } },
    line: /name: "agents"/,
  }),
  step_dangling: () => ({
    manifest: aManifest({ composition: composition('pipeline', 'look-up-order', 'gone') }),
    line: /gone/,
  }),
  step_duplicate: () => {
    const steps = composition('pipeline', 'look-up-order', 'look-up-order').steps
    return {
      manifest: aManifest({
        composition: {
          ...composition('pipeline'),
          steps: steps.map((step) => ({ ...step, id: 'twice' })),
        },
      }),
      line: /twice/,
    }
  },
  graph_without_edges: () => ({
    manifest: aManifest({ composition: composition('graph', 'look-up-order', 'look-up-order') }),
    line: /graph/,
  }),
  composition_missing: () => ({
    manifest: aManifest(),
    options: { compose: true },
    line: /schema_version/,
  }),
  composition_graph: () => ({
    manifest: aManifest({ composition: composition('graph', 'look-up-order', 'look-up-order') }),
    options: { compose: true },
    line: /graph/,
  }),
  composition_broken: () => ({
    manifest: aManifest({ composition: composition('pipeline', 'look-up-order', 'gone') }),
    options: { compose: true },
    line: /id: "s1"/,
  }),
  upstream_unreachable: () => ({
    manifest: overHttp('http://127.0.0.1:9'),
    options: { handlers: {} },
    line: /127\.0\.0\.1:9/,
    isLive: true,
  }),
  upstream_unauthorized: async () => ({
    manifest: overHttp(await answeringWith(401)),
    options: { handlers: {} },
    line: /auth/,
    isLive: true,
  }),
  upstream_invalid: async () => ({
    manifest: overHttp(await answeringWith(307)),
    options: { handlers: {} },
    line: /endpoint/,
    isLive: true,
  }),
  upstream_tool_missing: async () => ({
    manifest: overMcp((await anAgent()).url, { id: 'gone' }),
    options: { handlers: {} },
    line: /gone/,
    isLive: true,
  }),
  upstream_schema_differs: async () => ({
    manifest: overMcp((await anAgent()).url, { input_schema: { type: 'string' } }),
    options: { handlers: {} },
    line: /type: "string"/,
    isLive: true,
  }),
  upstream_unchecked: async () => ({
    manifest: overHttp(await answeringWith(200)),
    options: { handlers: {} },
    line: /endpoint/,
    isLive: true,
  }),
}

const handlerCodes: readonly DiagnosticCode[] = [
  'handlers_broken',
  'handler_unmatched',
  'handler_invalid',
]

test('there is an example of every code', () => {
  const codes = [...Object.keys(examples), ...handlerCodes]
  expect(codes.sort()).toEqual([...diagnosticCodes].sort())
})

const positionPattern = /^(.*):(\d+):(\d+)$/

/** The text of the line that a diagnostic points to. */
function lineAt({ at = '' }: Diagnostic): string {
  const [, file = '', line, column] = positionPattern.exec(at) ?? []
  expect(Number(column)).toBeGreaterThan(0)
  return readFileSync(file, 'utf8').split('\n')[Number(line) - 1] ?? ''
}

describe('every diagnostic has the position of what it is about', () => {
  test.each(Object.entries(examples))('%s', async (code, toExample) => {
    const { manifest, options, line, isLive } = await toExample()
    const text = typeof manifest === 'string' ? manifest : toYaml(manifest)
    const folder = await aProject({ 'agent.yaml': text })
    const handlers = typeof manifest === 'string' ? {} : answering(manifest)
    const source = manifestSource(path.join(folder, 'agent.yaml'), { handlers, ...options })
    const bridge = createDrawbridge({ sources: [source] })
    onTestFinished(() => bridge.close(100))
    await bridge.ready

    const diagnostics = [...bridge.diagnostics, ...(isLive ? await bridge.probeUpstreams() : [])]

    for (const { at } of diagnostics) expect(at).toMatch(positionPattern)
    const found = diagnostics.filter((one) => one.code === code)
    expect(found).not.toEqual([])
    expect(found.map(lineAt).join('\n')).toMatch(line)
  })

  test('findings of the catalog about a capability', async () => {
    const folder = await aProject({
      'agent.yaml': toYaml(
        aManifest({
          capabilities: [
            { description: 'Finds\u200b one order.' },
            { id: 'look_up_order', name: 'Another one' },
          ],
        }),
      ),
    })
    const manifest = aManifest({ capabilities: [{}, { id: 'look_up_order' }] })
    const source = manifestSource(path.join(folder, 'agent.yaml'), {
      handlers: answering(manifest),
    })
    const bridge = createDrawbridge({ sources: [source] })
    onTestFinished(() => bridge.close(100))
    await bridge.ready

    const lines = bridge.diagnostics.map((one) => `${one.code} ${lineAt(one).trim()}`)

    expect(lines).toContain('hidden_text - id: "look-up-order"')
    expect(lines).toContain('name_look_alike - id: "look_up_order"')
  })
})

describe('handlers', () => {
  const check = async (handlers: string, file = 'handlers.ts') => {
    const cwd = await aProject({
      'drawbridge.yaml': `sources: [{ manifest: agent.yaml, handlers: ./${file} }]\n`,
      'agent.yaml': toYaml(
        aManifest({ capabilities: [{}, { id: 'refund' }], interfaces: [anInternalInterface()] }),
      ),
      [file]: handlers,
    })
    const { code, stdout } = await drawbridge(['check', '--json'], { cwd })
    const diagnostics = (JSON.parse(stdout) as Diagnostic[]).filter(
      ({ code }) => code !== 'interface_missing' && code !== 'field_dropped',
    )
    return {
      code,
      diagnostics,
      lines: diagnostics.map((one) => `${one.severity} ${one.code} ${path.basename(one.at ?? '')}`),
    }
  }

  test('that no capability matches are warnings at their export', async () => {
    const { code, lines, diagnostics } = await check(
      [
        'export const limit = 3',
        'export const lookUpOrder = () => ({})',
        '',
        'export async function refundOrder() {}',
        'const hidden = () => ({})',
        'export const look_up_order = hidden',
        'export default { refund: () => ({}), "re-fund": hidden }',
      ].join('\n'),
    )

    expect(code).toBe(0)
    expect(lines).toEqual([
      'warning handler_unmatched handlers.ts:6:14',
      'warning handler_unmatched handlers.ts:7:39',
      'warning handler_unmatched handlers.ts:4:23',
    ])
    expect(diagnostics.map(({ message }) => message).join('\n')).toMatch(
      /look_up_order is never called.*Did you mean "look-up-order"\?/,
    )
  })

  test('of a capability with an error of its own are not reported', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': 'sources: [{ manifest: agent.yaml, handlers: ./handlers.ts }]\n',
      'agent.yaml': toYaml(
        aManifest({
          capabilities: [{}, { id: 'refund', category: 'nonsense' }],
          interfaces: [anInternalInterface()],
        }),
      ),
      'handlers.ts': 'export const refund = () => ({})\nexport const lookUpOrder = () => ({})\n',
    })
    const { stdout } = await drawbridge(['check'], { cwd })

    expect(stdout).toMatch(/category/)
    expect(stdout).not.toMatch(/handler_unmatched/)
  })

  test('and other findings about many capabilities are one line with a count', async () => {
    const capabilities = Array.from({ length: 30 }, (_, index) => ({
      id: `c${index}`,
      protocols: ['HTTP'],
      x_team: 'desk',
    }))
    const cwd = await aProject({
      'drawbridge.yaml':
        'sources: [{ manifest: agent.yaml, handlers: ./handlers.ts, all: true, strict: false }]\n',
      'agent.yaml': toYaml(aManifest({ capabilities, interfaces: [anInterface()] })),
      'handlers.ts': capabilities
        .map(({ id }) => `export const other_${id} = () => ({})\n`)
        .join(''),
    })
    const { stdout } = await drawbridge(['check'], { cwd })

    for (const code of ['field_unknown', 'route_missing', 'handler_unmatched'])
      expect(stdout.split('\n').filter((line) => line.includes(code))).toEqual([
        expect.stringContaining('and 29 more like it'),
      ])
    expect(stdout).toMatch(/c0 cannot be called: the manifest has no HTTP interface/)
  })

  test('that are no functions leave their capability without a way to be called', async () => {
    const { code, lines } = await check(
      'export const refund = "later"\nexport const lookUpOrder = () => ({})\n',
    )

    expect(code).toBe(1)
    expect(lines).toEqual([
      'warning handler_invalid handlers.ts:1:14',
      expect.stringMatching(/^error route_missing agent\.yaml:\d+:\d+$/),
    ])
  })

  test.each([
    ['throws', 'const a = 1\nthrow new Error("the database is down")\n', 2, /the database is down/],
    ['is not valid', 'export const a = {\n  b: ,\n}\n', 2, /handlers\.ts|nexpected/],
  ])(
    'in a module that %s are an error at its line, and nothing is served',
    async (_, text, line, message) => {
      const { code, lines, diagnostics } = await check(text)

      expect(code).toBe(1)
      expect(lines).toEqual([
        expect.stringMatching(new RegExp(`^error handlers_broken handlers\\.ts:${line}:\\d+$`)),
      ])
      expect(diagnostics[0]?.message).toMatch(message)
    },
  )

  test('in a module that does not exist are an error with its path', async () => {
    const cwd = await aProject({
      'drawbridge.yaml': 'sources: [{ manifest: agent.yaml, handlers: ./gone.ts }]\n',
      'agent.yaml': toYaml(aManifest()),
    })
    const { code, stdout } = await drawbridge(['check'], { cwd })
    expect(code).toBe(1)
    expect(stdout).toMatch(/^error +\S*gone\.ts:1:1 handlers_broken: /m)
  })
})

test('an endpoint that is not a valid URL costs only the capabilities behind it', async () => {
  const cwd = await aProject({
    'drawbridge.yaml': 'sources: [{ manifest: agent.yaml, handlers: ./handlers.ts, all: true }]\n',
    'agent.yaml': toYaml(
      aManifest({
        capabilities: [{ protocols: ['MCP'], id: 'remote' }, { id: 'refund' }],
        interfaces: [anInterface({ endpoint: 'http://[bad' }), anInternalInterface()],
      }),
    ),
    'handlers.ts': 'export const refund = () => ({})\n',
  })
  const { code, stdout } = await drawbridge(['check'], { cwd })

  expect(code).toBe(1)
  expect(stdout).toMatch(/remote cannot be called: \S+ has an endpoint that is not a valid URL/)
  expect(stdout).toMatch(/^1 tool, 1 error/m)
})
