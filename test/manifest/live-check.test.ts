import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createDrawbridge, manifestSource } from '../../src/index.ts'
import { anAgentOf2025 } from '../support/a-2025-agent.ts'
import { anAgentOf2026 } from '../support/a-2026-agent.ts'
import {
  aManifest,
  anInterface,
  answering,
  type Fields,
  type ManifestData,
  type ServeParts,
  serveManifest,
  toYaml,
} from '../support/a-manifest.ts'
import { aProject } from '../support/a-project.ts'
import { atMost } from '../support/amount.ts'
import { drawbridge } from '../support/run-cli.ts'

const order = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] }
const state = { type: 'object', properties: { state: { type: 'string' } }, required: ['state'] }

/** The findings of a live check, without those of the check without one. */
async function probe(manifest: ManifestData, options: ServeParts = {}) {
  const bridge = await serveManifest(manifest, options)
  return bridge.probeUpstreams({ timeoutMs: 2000 })
}

const brief = (findings: Awaited<ReturnType<typeof probe>>) =>
  findings.map(({ severity, code, pointer }) => `${severity} ${code} ${pointer}`)

const over = (endpoint: string, capabilities: readonly Fields[], parts: Fields = {}) =>
  aManifest({
    capabilities: capabilities.map((one) => ({ protocols: ['MCP'], ...one })),
    interfaces: [anInterface({ endpoint, auth: 'none', ...parts })],
  })

/** Registers the tools of the agent on an official server of either version. */
interface Registers {
  registerTool(name: string, config: object, run: () => Promise<object>): unknown
}

function registerTools(server: Registers, ran: string[]) {
  const register = (name: string, input: z.ZodRawShape, output?: z.ZodRawShape) =>
    server.registerTool(
      name,
      { inputSchema: z.object(input), ...(output && { outputSchema: z.object(output) }) },
      async () => {
        ran.push(name)
        return { content: [] }
      },
    )
  register('same', { order: z.string() }, { state: z.string() })
  register('wider', { order: z.string(), note: z.string().optional() })
  register('needs-more', { order: z.string(), customer: z.string() })
  register('other-type', { order: z.number() })
  register('other-output', { order: z.string() }, { state: z.number() })
}

const officialAgents = {
  'the official server of 2026': async (ran: string[]) =>
    anAgentOf2026((server) => registerTools(server as never, ran)),
  'the official server of 2025': async (ran: string[]) =>
    anAgentOf2025((server) => registerTools(server as never, ran)),
}

describe.each(Object.entries(officialAgents))('%s', (_, open) => {
  test('is asked for its tools and their schemas, and none of them is run', async () => {
    const ran: string[] = []
    const agent = await open(ran)
    const ids = ['same', 'wider', 'needs-more', 'other-type', 'other-output', 'gone']

    const findings = await probe(
      over(
        agent.url,
        ids.map((id) => ({ id, input_schema: order, output_schema: state })),
      ),
    )

    expect(brief(findings)).toEqual([
      'error upstream_schema_differs /capabilities/2/input_schema',
      'error upstream_schema_differs /capabilities/3/input_schema',
      'error upstream_schema_differs /capabilities/4/output_schema',
      'error upstream_tool_missing /capabilities/5/id',
    ])
    expect(findings[0]?.message).toContain('customer')
    expect(findings[3]?.message).toContain('it lists same, wider, needs-more')
    for (const { at } of findings) expect(at).toMatch(/agent\.yaml:\d+:\d+$/)
    expect(ran).toEqual([])
    expect(agent.received.filter(({ what }) => what.includes('tools/call'))).toEqual([])
    expect(agent.received.filter(({ what }) => what.includes('tools/list'))).toHaveLength(1)
  })
})

type Answer = (request: IncomingMessage, response: ServerResponse) => void

async function anHttpAgent(answer: Answer) {
  const received: string[] = []
  const server = createServer((request, response) => {
    received.push(`${request.method} ${request.url} ${request.headers['x-api-key'] ?? ''}`.trim())
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, received }
}

const respond =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    void response.writeHead(status, headers).end()

const overHttp = (endpoint: string, ids: readonly string[], parts: Fields = {}) =>
  aManifest({
    requirements: { secrets: [{ id: 'agents', secret_ref: 'env://LIVE_CHECK_KEY' }] },
    capabilities: ids.map((id) => ({ id, protocols: ['MCP', 'HTTP'] })),
    interfaces: [anInterface({ protocol: 'HTTP', endpoint, auth: 'none', ...parts })],
  })

describe('an HTTP interface', () => {
  test.each<[string, Answer, string[]]>([
    ['allows POST', respond(204, { allow: 'OPTIONS, POST' }), []],
    ['says so with 405', respond(405, { allow: 'post' }), []],
    [
      'does not allow POST',
      respond(200, { allow: 'GET' }),
      ['error upstream_tool_missing /capabilities/0/id'],
    ],
    ['does not know the path', respond(404), ['error upstream_tool_missing /capabilities/0/id']],
    ['does not tell', respond(200), ['info upstream_unchecked /interfaces/0/endpoint']],
    ['refuses OPTIONS', respond(501), ['info upstream_unchecked /interfaces/0/endpoint']],
    ['is overloaded', respond(429), ['info upstream_unchecked /interfaces/0/endpoint']],
    ['wants credentials', respond(401), ['error upstream_unauthorized /interfaces/0/auth']],
    ['forbids it', respond(403), ['error upstream_unauthorized /interfaces/0/auth']],
    ['is down', respond(503), ['error upstream_unreachable /interfaces/0/endpoint']],
    [
      'redirects',
      respond(302, { location: 'http://127.0.0.1:1/' }),
      ['error upstream_invalid /interfaces/0/endpoint'],
    ],
    [
      'closes the connection',
      ({ socket }) => void socket.destroy(),
      ['error upstream_unreachable /interfaces/0/endpoint'],
    ],
    ['never answers', () => {}, ['error upstream_unreachable /interfaces/0/endpoint']],
  ])('that %s', async (_, answer, expected) => {
    const agent = await anHttpAgent(answer)
    const findings = await probe(overHttp(agent.url, ['look-up']))

    expect(brief(findings)).toEqual(expected)
    for (const { at } of findings) expect(at).toMatch(/agent\.yaml:\d+:\d+$/)
    expect(agent.received).toEqual(['OPTIONS /v1/look-up'])
  })

  test('gets its own secret, and is asked for every capability', async () => {
    const agent = await anHttpAgent(respond(204, { allow: 'POST' }))
    const findings = await probe(overHttp(agent.url, ['one', 'two'], { auth: 'api_key' }), {
      resolveSecret: async () => 'the-key',
    })

    expect(findings).toEqual([])
    expect(agent.received).toEqual(['OPTIONS /v1/one the-key', 'OPTIONS /v1/two the-key'])
  })

  test('is not asked more often than its rate limit allows', async () => {
    const agent = await anHttpAgent(respond(204, { allow: 'POST' }))
    const parts = { rate_limit: { requests_per_minute: 2 } }
    const findings = await probe(overHttp(agent.url, ['a1', 'b1', 'c1', 'd1'], parts))

    expect(agent.received).toHaveLength(2)
    expect(findings).toMatchObject([
      { severity: 'info', message: expect.stringMatching(/c1: it was not asked.*\(and 1 more\)/) },
    ])
  })

  test('is asked for a declared path instead', async () => {
    const agent = await anHttpAgent(respond(200))
    const down = await anHttpAgent(respond(404))
    const options = { probes: { agents: '/health?deep=1' } }

    expect(await probe(overHttp(agent.url, ['one', 'two']), options)).toEqual([])
    expect(agent.received).toEqual(['GET /health?deep=1'])
    expect(brief(await probe(overHttp(down.url, ['one']), options))).toEqual([
      'error upstream_invalid /interfaces/0/endpoint',
    ])
  })

  test.each(['//evil.example/health', '/\\evil.example/health', 'https://evil.example/'])(
    'is never asked at another host: %s',
    async (probePath) => {
      const agent = await anHttpAgent(respond(200))
      const bridge = await serveManifest(overHttp(agent.url, ['one']), {
        probes: { agents: probePath },
      })
      expect(bridge.diagnostics).toContainEqual(
        expect.objectContaining({ code: 'probe_invalid', pointer: '/interfaces/0/endpoint' }),
      )
      await bridge.probeUpstreams()
      expect(agent.received).toEqual(['OPTIONS /v1/one'])
    },
  )
})

describe('a live check', () => {
  test('reports servers that cannot be reached, all at once', async () => {
    const manifest = aManifest({
      capabilities: [
        { id: 'over-mcp', protocols: ['MCP'] },
        { id: 'over-http', protocols: ['HTTP'] },
      ],
      interfaces: [
        anInterface({ endpoint: 'http://127.0.0.1:9/mcp', auth: 'none' }),
        anInterface({ name: 'h', protocol: 'HTTP', endpoint: 'http://127.0.0.1:9', auth: 'none' }),
      ],
    })
    expect(brief(await probe(manifest, { all: true }))).toEqual([
      'error upstream_unreachable /interfaces/0/endpoint',
      'error upstream_unreachable /interfaces/1/endpoint',
    ])
  })

  test('reports an MCP server that never answers, after its time', async () => {
    const silent = await anHttpAgent(() => {})
    const startMs = performance.now()

    const findings = await probe(over(silent.url, [{}]))

    expect(brief(findings)).toEqual(['error upstream_unreachable /interfaces/0/endpoint'])
    expect(findings[0]?.message).toMatch(/cannot be reached: it did not answer in time/)
    expect(performance.now() - startMs).toBeLessThan(atMost(3000))
  })

  test('does not compare a schema that is too large', async () => {
    const agent = await anAgentOf2026((server) =>
      (server as unknown as Registers).registerTool(
        'look-up-order',
        { inputSchema: z.object({ order: z.enum([`a${'b'.repeat(1_000_000)}`]) }) },
        async () => ({ content: [] }),
      ),
    )
    const findings = await probe(over(agent.url, [{ input_schema: order }]))

    expect(brief(findings)).toEqual([
      'warning upstream_schema_differs /capabilities/0/input_schema',
    ])
    expect(findings[0]?.message.length).toBeLessThan(1000)
  })

  test('asks nobody who must not be reached, or without a secret', async () => {
    const agent = await anHttpAgent(respond(200))
    const denied = await probe(over(agent.url, [{}]), {
      bridge: { policy: { egress: { deny: ['127.0.0.0/8'] } } },
    })
    const unset = await probe(overHttp(agent.url, ['one'], { auth: 'api_key' }))
    const unbound = await probe(overHttp(agent.url, ['one'], { auth: 'api_key', name: 'x' }))

    expect(brief(denied)).toEqual(['error egress_refused /interfaces/0/endpoint'])
    for (const findings of [unset, unbound])
      expect(brief(findings)).toEqual(['error upstream_unauthorized /interfaces/0/auth'])
    expect(agent.received).toEqual([])
  })

  test('asks at most eight servers at a time', async () => {
    let open = 0
    let most = 0
    const agents = await Promise.all(
      Array.from({ length: 20 }, () =>
        anHttpAgent((_, response) => {
          most = Math.max(most, ++open)
          setTimeout(() => {
            open--
            response.writeHead(204, { allow: 'POST' }).end()
          }, 20)
        }),
      ),
    )
    const sources = await Promise.all(
      agents.map(async ({ url }, index) => {
        const folder = await aProject({ 'agent.yaml': toYaml(overHttp(url, [`c${index}`])) })
        return manifestSource(path.join(folder, 'agent.yaml'), { id: `agent ${index}` })
      }),
    )
    const bridge = createDrawbridge({ sources })
    onTestFinished(() => bridge.close(100))
    const progress: string[] = []

    const findings = await bridge.probeUpstreams({
      onProgress: (done, total) => progress.push(`${done}/${total}`),
    })

    expect(findings).toEqual([])
    expect(most).toBe(8)
    expect(progress.at(-1)).toBe('20/20')
  })

  test('has nobody to ask about handlers', async () => {
    const manifest = aManifest()
    expect(await probe(manifest, { handlers: answering(manifest) })).toEqual([])
  })

  test('is a flag of `check`, in text and JSON, with exit code 1 for an error', async () => {
    const agent = await anHttpAgent(respond(404))
    const cwd = await aProject({
      'agent.yaml': toYaml(overHttp(agent.url, ['look-up'])),
      'drawbridge.yaml': 'sources: [{ manifest: agent.yaml, probes: { agents: /health } }]\n',
    })

    const [dead, live, json, probed] = await Promise.all([
      drawbridge(['check', 'agent.yaml'], { cwd }),
      drawbridge(['check', 'agent.yaml', '--live'], { cwd }),
      drawbridge(['check', 'agent.yaml', '--live', '--json'], { cwd }),
      drawbridge(['check', '--live'], { cwd }),
    ])

    expect(dead?.code).toBe(0)
    expect(live).toMatchObject({ code: 1, stderr: '' })
    expect(live?.stdout).toMatch(
      /^error +\S*agent\.yaml:\d+:\d+ upstream_tool_missing: The interface agents does not have look-up/m,
    )
    expect(JSON.parse(json?.stdout ?? '')).toContainEqual(
      expect.objectContaining({
        code: 'upstream_tool_missing',
        at: expect.stringContaining(path.join(cwd, 'agent.yaml:')),
      }),
    )
    expect(probed?.stdout).toContain('upstream_invalid')
    expect(agent.received).toContain('GET /health')
  })
})
