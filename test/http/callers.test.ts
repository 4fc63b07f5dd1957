import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { definePrompt, defineTool, defineView, definitionSource, z } from '../../src/index.ts'
import { aConfig, aProject, aToolModule } from '../support/a-project.ts'
import { aClientOf2025, aModernClient } from '../support/official-clients.ts'
import { drawbridge, startServing } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'
import {
  aModernPost,
  anInitializePost,
  answerOf,
  aPostOf2025,
  initializeSession,
  post,
} from '../support/wire.ts'

/** Tools and the scopes they require. */
const requiredScopes = {
  ping: [],
  read_order: ['orders:read'],
  write_order: ['orders:write'],
  read_item: ['orders:items:read'],
  refund: ['orders:write', 'payments:write'],
  erase: ['admin'],
}
type Name = keyof typeof requiredScopes
const names = Object.keys(requiredScopes) as Name[]

/** Scopes per token holder, and the tools they permit. */
const holders: Readonly<Record<string, { scopes: string[]; allowedTools: Name[] }>> = {
  nothing: { scopes: [], allowedTools: ['ping'] },
  reader: { scopes: ['orders:read'], allowedTools: ['ping', 'read_order'] },
  clerk: {
    scopes: ['orders:read', 'orders:write'],
    allowedTools: ['ping', 'read_order', 'write_order'],
  },
  cashier: {
    scopes: ['orders:write', 'payments:write'],
    allowedTools: ['ping', 'refund', 'write_order'],
  },
  orders: {
    scopes: ['orders:*'],
    allowedTools: ['ping', 'read_item', 'read_order', 'write_order'],
  },
  items: { scopes: ['orders:items:*'], allowedTools: ['ping', 'read_item'] },
  everything: { scopes: ['*'], allowedTools: [...names].sort() },
  // Patterns that resemble a scope but match nothing.
  'other case': { scopes: ['ORDERS:READ', 'Admin'], allowedTools: ['ping'] },
  'partial words': { scopes: ['orders:re*', 'adm*', 'orders', 'orders:'], allowedTools: ['ping'] },
  'longer scopes': { scopes: ['orders:read:all', 'admin:*'], allowedTools: ['ping'] },
}

const tools = names.map((name) =>
  defineTool({
    name,
    description: `Is called ${name}.`,
    category: 'read',
    permissions: requiredScopes[name],
    schema: z.object({ order: z.number().optional() }),
    execute: (_, { caller }) => ({ subject: caller.subject }),
  }),
)

const secretOf = (holder: string): string => `secret-of-${holder.replaceAll(' ', '-')}`
const bearer = (holder: string) => ({ authorization: `Bearer ${secretOf(holder)}` })
const toHash = (secret: string) => `sha256:${createHash('sha256').update(secret).digest('hex')}`

const tokens = Object.entries(holders).map(([subject, { scopes }]) => ({
  hash: toHash(secretOf(subject)),
  subject,
  scopes,
}))

const guardedOptions = { sources: [definitionSource(tools)], http: { tokens } }
const callOf = (name: string) => aModernPost('tools/call', { name, arguments: {} })

describe('with configured tokens, a request needs a valid one', () => {
  const invalidCredentials: Readonly<Record<string, Record<string, string>>> = {
    'no token': {},
    'a wrong token': { authorization: 'Bearer wrong' },
    'an empty token': { authorization: 'Bearer ' },
    'a digest in place of its token': { authorization: `Bearer ${toHash(secretOf('reader'))}` },
    'a right token in other case': { authorization: `Bearer ${secretOf('reader').toUpperCase()}` },
    'a right token under another scheme': {
      authorization: `Basic ${Buffer.from(`reader:${secretOf('reader')}`).toString('base64')}`,
    },
    'two tokens at once': {
      authorization: `Bearer ${secretOf('reader')}, Bearer ${secretOf('clerk')}`,
    },
    'a token of 8 KiB': { authorization: `Bearer ${'a'.repeat(8192)}` },
    'a right token in the wrong header': { 'x-api-key': secretOf('reader') },
    'a right token in a cookie': { cookie: `access_token=${secretOf('reader')}` },
  }

  test.each(Object.entries(invalidCredentials))(
    '%s gets 401 with a challenge in both protocol versions',
    async (_, headers) => {
      const { url } = await serveHere(guardedOptions)

      const responses = [
        await post(url, aModernPost('tools/list'), headers),
        await post(url, callOf('ping'), headers),
        await post(url, anInitializePost(), headers),
        await fetch(url, { headers: { accept: 'text/event-stream', ...headers } }),
        await fetch(url, { method: 'DELETE', headers }),
        await post(`${url}?access_token=${secretOf('reader')}`, aModernPost('tools/list'), headers),
      ]

      for (const response of responses) {
        expect(response.status).toBe(401)
        expect(response.headers.get('www-authenticate')).toMatch(/^Bearer\b/)
        expect(response.headers.get('mcp-session-id')).toBeNull()
      }
    },
  )

  test('the body is not parsed before authentication', async () => {
    const { url } = await serveHere(guardedOptions)

    const response = await post(url, { headers: { 'content-type': 'application/json' }, body: '{' })

    expect(response.status).toBe(401)
  })

  test('the Bearer scheme is case-insensitive', async () => {
    const { url } = await serveHere(guardedOptions)

    const response = await post(url, callOf('ping'), {
      authorization: `bEaReR ${secretOf('reader')}`,
    })

    expect(response.status).toBe(200)
  })

  test('a tool receives the subject of the token', async () => {
    const { url } = await serveHere(guardedOptions)

    const answer = await answerOf(await post(url, callOf('ping'), bearer('clerk')))

    expect(answer.result.structuredContent).toEqual({ subject: 'clerk' })
  })
})

describe('a caller sees exactly the tools it may call', () => {
  test.each(Object.keys(holders))('with the scopes of %s', async (holder) => {
    const { url } = await serveHere(guardedOptions)
    const { allowedTools = [] } = holders[holder] ?? {}
    const modern = await aModernClient(url, bearer(holder))
    const legacy = await aClientOf2025(url, bearer(holder))

    const listedTools = {
      modern: (await modern.listTools()).tools.map(({ name }) => name),
      legacy: (await legacy.listTools()).tools.map(({ name }) => name),
    }
    const callableTools = { modern: [] as Name[], legacy: [] as Name[] }
    for (const name of [...names].sort()) {
      const params = { name, arguments: {} }
      await modern.callTool(params).then(
        () => callableTools.modern.push(name),
        () => {},
      )
      await legacy.callTool(params).then(
        () => callableTools.legacy.push(name),
        () => {},
      )
    }

    expect(listedTools).toEqual({ modern: allowedTools, legacy: allowedTools })
    expect(callableTools).toEqual(listedTools)
  })

  test('under concurrent requests', async () => {
    const { url } = await serveHere(guardedOptions)
    const requesters = Object.keys(holders).flatMap((holder) =>
      Array.from({ length: 5 }, () => holder),
    )

    const visibleTools = await Promise.all(
      requesters.map(async (holder) => {
        const { result } = await answerOf(
          await post(url, aModernPost('tools/list'), bearer(holder)),
        )
        return [holder, result.tools.map(({ name }: { name: string }) => name)]
      }),
    )

    expect(visibleTools).toEqual(
      requesters.map((holder) => [holder, holders[holder]?.allowedTools]),
    )
  })

  test('without tokens, the local user holds every scope', async () => {
    const { url } = await serveHere({ sources: guardedOptions.sources })
    const modern = await aModernClient(url)

    expect((await modern.listTools()).tools.map(({ name }) => name)).toEqual([...names].sort())
    expect(await modern.callTool({ name: 'refund', arguments: {} })).toMatchObject({
      structuredContent: { subject: 'local' },
    })
  })
})

describe('a missing scope', () => {
  test('is 403 with a challenge that names all missing scopes on modern HTTP', async () => {
    const { url } = await serveHere(guardedOptions)

    const response = await post(url, callOf('refund'), bearer('reader'))

    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="orders:write payments:write"',
    )
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: 1, error: { code: -31403 } })
  })

  test('names only the missing scopes', async () => {
    const { url } = await serveHere(guardedOptions)

    const response = await post(url, callOf('refund'), bearer('clerk'))

    expect(response.headers.get('www-authenticate')).toContain('scope="payments:write"')
  })

  test('is the same in a 2025 session', async () => {
    const { url } = await serveHere(guardedOptions)
    const session = await initializeSession(url, bearer('reader'))

    const response = await post(
      url,
      aPostOf2025('tools/call', { name: 'refund', arguments: {} }, session),
      bearer('reader'),
    )

    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="orders:write payments:write"',
    )
    expect(await answerOf(response)).toMatchObject({
      jsonrpc: '2.0',
      error: { code: -31403, data: { code: 'insufficient_scope' } },
    })
  })

  test('is reported before invalid arguments', async () => {
    const { url } = await serveHere(guardedOptions)
    const invalidCall = aModernPost('tools/call', {
      name: 'refund',
      arguments: { order: 'one' },
    })

    expect((await post(url, invalidCall, bearer('reader'))).status).toBe(403)
  })

  test('hides a view and refuses to read it', async () => {
    const view = defineView({
      uri: 'orders://all',
      name: 'orders',
      description: 'All orders.',
      permissions: ['orders:read'],
      read: () => 'none',
    })
    const { url } = await serveHere({ sources: [definitionSource([view])], http: { tokens } })
    const read = aModernPost('resources/read', { uri: 'orders://all' })
    const list = aModernPost('resources/list')

    const [answer, refusal] = [
      await post(url, read, bearer('reader')),
      await post(url, read, bearer('nothing')),
    ]
    const [fullList, emptyList] = [
      await post(url, list, bearer('reader')),
      await post(url, list, bearer('nothing')),
    ]

    expect([answer.status, refusal.status]).toEqual([200, 403])
    expect((await answerOf(fullList)).result.resources).toHaveLength(1)
    expect((await answerOf(emptyList)).result.resources).toEqual([])
  })
})

describe('cache scope', () => {
  const publicDefinitions = [
    defineTool({
      name: 'ping',
      description: 'Answers.',
      category: 'analysis',
      schema: z.object({}),
      execute: () => 'pong',
    }),
    defineView({ uri: 'a://b', name: 'b', description: 'A view.', read: () => 'b' }),
    defineView({ uri: 'a://c/{d}', name: 'c', description: 'A template.', read: () => 'c' }),
    definePrompt({ name: 'p', description: 'A prompt.', render: () => 'p' }),
  ]
  const lists = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']
  const cachingOf = async (url: string, method: string, headers = {}, params = {}) => {
    const { result } = await answerOf(await post(url, aModernPost(method, params), headers))
    const { ttlMs, cacheScope } = result
    expect(Number.isSafeInteger(ttlMs) && ttlMs >= 0, method).toBe(true)
    return cacheScope
  }

  test('lists are public when every caller sees the same', async () => {
    const { url } = await serveHere({ sources: [definitionSource(publicDefinitions)] })

    for (const method of lists) expect(await cachingOf(url, method), method).toBe('public')
  })

  test('lists are private with configured tokens', async () => {
    const { url } = await serveHere({
      sources: [definitionSource(publicDefinitions)],
      http: { tokens },
    })

    for (const method of lists)
      expect(await cachingOf(url, method, bearer('reader')), method).toBe('private')
  })

  test('lists are private when anything needs a permission', async () => {
    const { url } = await serveHere({
      sources: [definitionSource([...publicDefinitions, ...tools.slice(1)])],
    })

    for (const method of lists) expect(await cachingOf(url, method), method).toBe('private')
  })

  test("a view's content is private, and server/discover is public, both with a ttl", async () => {
    const { url } = await serveHere({ sources: [definitionSource(publicDefinitions)] })

    expect(await cachingOf(url, 'resources/read', {}, { uri: 'a://b' })).toBe('private')
    expect(await cachingOf(url, 'server/discover')).toBe('public')
  })
})

describe('drawbridge token', () => {
  test('mints a token that works when its config line is pasted, and is never logged', async () => {
    const { stdout, stderr } = await drawbridge([
      ...['token', '--subject', 'ann "the clerk"'],
      ...['--scopes', 'orders:read,orders:write'],
    ])
    const token = stdout.trim()
    const lines = stderr.slice(stderr.indexOf('  tokens:'))
    const cwd = await aProject({
      'drawbridge.yaml': aConfig(`http:\n${lines}`),
      'tools/read.ts': aToolModule({ name: 'read_order', permissions: ['orders:read'] }),
      'tools/whoami.ts': aToolModule({ name: 'whoami', body: 'return context.caller.subject' }),
      'tools/erase.ts': aToolModule({ name: 'erase', permissions: ['admin'] }),
      'tools/fail.ts': aToolModule({ name: 'fail', body: 'throw new Error("broken inside")' }),
    })
    const server = await startServing([], { cwd, env: { LOG_LEVEL: 'trace' } })
    const client = await aModernClient(server.url, { authorization: `Bearer ${token}` })
    const wrongHeader = 'Bearer wrong-token-of-a-stranger'

    const { tools } = await client.listTools()
    const { content } = await client.callTool({ name: 'whoami', arguments: {} })
    await client.callTool({ name: 'fail', arguments: {} })
    await client.callTool({ name: 'erase', arguments: {} }).catch(() => {})
    const refusal = await post(server.url, aModernPost('tools/list'), {
      authorization: wrongHeader,
    })
    const malformedAnswer = await fetch(server.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"jsonrpc":',
    })
    await server.waitForOutput(/broken inside/)

    expect(tools.map(({ name }) => name)).toEqual(['fail', 'read_order', 'whoami'])
    expect(content).toEqual([{ type: 'text', text: 'ann "the clerk"' }])
    expect([refusal.status, malformedAnswer.status]).toEqual([401, 400])
    for (const text of [server.stderr(), server.stdout(), await malformedAnswer.text()]) {
      expect(text).not.toContain(token)
      expect(text).not.toContain('wrong-token-of-a-stranger')
    }
  })
})
