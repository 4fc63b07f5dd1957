import path from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as library from '../../src/index.ts'
import type { Drawbridge } from '../../src/runtime/drawbridge.ts'
import { openDrawbridge } from '../../src/runtime/open-drawbridge.ts'
import { main } from '../support/run-cli.ts'

const example = path.resolve('examples/definitions')
const stdio = {
  command: process.execPath,
  args: [main, 'serve', example, '--stdio'],
}
const identity = { name: 'test', version: '1.0.0' }
const modern = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const

let bridge: Drawbridge
let url: URL

beforeAll(async () => {
  ;({ bridge } = await openDrawbridge(example, {
    library: async () => library,
    environment: {},
    store: 'none',
  }))
  const { port } = await bridge.listen({ port: 0 })
  url = new URL(`http://127.0.0.1:${port}/mcp`)
})

afterAll(() => bridge.close())

interface AnyClient {
  listTools(): Promise<{ tools: object[] }>
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<object>
  close(): Promise<void>
}

const clients: Record<string, () => Promise<AnyClient>> = {
  'v2, 2026 over HTTP': async () => {
    const client = new Client(identity, modern)
    await client.connect(new StreamableHTTPClientTransport(url))
    return client as AnyClient
  },
  'v2, 2025 over HTTP': async () => {
    const client = new Client(identity)
    await client.connect(new StreamableHTTPClientTransport(url))
    return client as AnyClient
  },
  'v1 over HTTP': async () => {
    const client = new ClientV1(identity)
    await client.connect(new HttpV1(url) as never)
    return client as AnyClient
  },
  'v2, 2026 over stdio': async () => {
    const client = new Client(identity, modern)
    await client.connect(new StdioClientTransport({ ...stdio, stderr: 'ignore' }))
    return client as AnyClient
  },
  'v2, 2025 over stdio': async () => {
    const client = new Client(identity)
    await client.connect(new StdioClientTransport({ ...stdio, stderr: 'ignore' }))
    return client as AnyClient
  },
  'v1 over stdio': async () => {
    const client = new ClientV1(identity)
    await client.connect(new StdioV1({ ...stdio, stderr: 'ignore' }))
    return client as AnyClient
  },
}

/** Drops the metadata, which names the call and the server. */
const withoutMeta = ({ _meta, ...rest }: { _meta?: unknown }) => rest

async function exercise(connect: () => Promise<AnyClient>) {
  const client = await connect()
  try {
    const { tools } = await client.listTools()
    const call = async (name: string, input: Record<string, unknown>) =>
      withoutMeta(await client.callTool({ name, arguments: input }))
    return {
      tools,
      good: await call('convert_units', { value: 2, from: 'mile', to: 'foot' }),
      toolError: await call('read_note', { id: 404 }),
      badInput: await call('convert_units', { value: 'two' }),
      unknown: await call('no_such_tool', {}).catch(({ code }: { code: number }) => code),
    }
  } finally {
    await client.close()
  }
}

describe('official SDK clients', () => {
  test('see identical tools and results in both protocol versions and on both transports', async () => {
    const names = Object.keys(clients)
    const [reference, ...others] = await Promise.all(Object.values(clients).map(exercise))
    if (!reference) throw new Error('no client')

    expect(reference.good).toEqual({
      content: [{ type: 'text', text: '10560 foot' }],
      structuredContent: { value: 10560, unit: 'foot' },
    })
    expect(reference.toolError).toMatchObject({ isError: true })
    expect(reference.badInput).toMatchObject({ isError: true })
    expect(reference.unknown).toBe(-32602)
    expect(reference.tools).toHaveLength(5)
    for (const [index, other] of others.entries())
      expect({ client: names[index + 1], ...other }).toEqual({
        client: names[index + 1],
        ...reference,
      })
  })
})

test('tools/list returns identical bytes every time', async () => {
  const listTools = async () => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/list',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: {
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    })
    return response.text()
  }
  const first = await listTools()
  expect(JSON.parse(first).result).toMatchObject({
    resultType: 'complete',
    ttlMs: 30_000,
    cacheScope: 'public',
  })
  expect(await listTools()).toBe(first)
})
