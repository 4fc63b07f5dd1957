import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { openApiSource } from '../../src/index.ts'
import { aCanary } from '../support/a-canary.ts'
import { aDocument, anApi, anOperation, serveApi } from '../support/api/an-api.ts'
import { ApiDocument } from '../support/api/api-document.ts'
import type { ReceivedRequest } from '../support/api/mock-api.ts'
import { serveHere } from '../support/serve-here.ts'
import { accepted, toSecrets } from './credentials.ts'

const everything = path.resolve('test/fixtures/openapi/everything.yaml')
const securityOnly = { include: [{ tag: 'security' }] }
const serveEverything = (secrets: (host: string) => ReturnType<typeof toSecrets>) =>
  serveApi(everything, { credentials: accepted, secrets, source: securityOnly })

describe('a security scheme', () => {
  test.each([
    ['secureHeaderKey', ['headerKey']],
    ['secureQueryKey', ['queryKey']],
    ['secureCookieKey', ['cookieKey']],
    ['secureBasic', ['basic']],
    ['secureBearer', ['bearer']],
    ['secureToken', ['token']],
    ['secureCode', ['code']],
    ['secureOpenId', ['openId']],
    ['secureBoth', ['headerKey', 'basic']],
    ['secureEither', ['queryKey', 'cookieKey']],
    ['secureOptional', ['headerKey']],
  ])('of %s gets its own secret, and no other', async (name, schemes) => {
    const { bridge, api } = await serveEverything(toSecrets)

    const result = await bridge.call(name, {})

    expect(result.isError).toBeUndefined()
    expect(api.received[0]).toMatchObject({ problems: [], credentials: schemes })
    const sent = JSON.stringify([api.received[0]?.target, api.received[0]?.headers])
    for (const [scheme, text] of Object.entries(sentTexts))
      expect(sent.includes(text)).toBe(schemes.includes(scheme))
  })

  test('that needs the header of another one is an alternative to it, and check says so', async () => {
    const document = await aDocument(
      { '/users': { get: anOperation('listUsers') } },
      {
        security: [{ key: [], token: [] }],
        components: {
          securitySchemes: {
            key: { type: 'apiKey', in: 'header', name: 'Authorization' },
            token: { type: 'http', scheme: 'bearer' },
          },
        },
      },
    )
    const { bridge, api } = await serveApi(document, {
      secrets: (host) => ({ token: { host, value: 'only-one' } }),
    })

    await bridge.call('listUsers', {})

    expect(api.received[0]?.headers.authorization).toBe('Bearer only-one')
    expect(bridge.diagnostics).toEqual([
      expect.objectContaining({
        severity: 'warning',
        message: expect.stringMatching(/key and token need the same place/),
        at: expect.stringMatching(/api\.yaml:\d+:\d+$/),
      }),
    ])
  })

  test.each(['a\nb', 'key\n', '日本'])(
    'in a header with the secret %j cannot be sent, and check says so',
    async (value) => {
      const { bridge } = await serveEverything((host) => ({
        headerKey: { host, value },
        queryKey: { host, value },
      }))
      await bridge.list()

      expect(bridge.diagnostics.filter(({ code }) => code === 'secret_unset')).toEqual([
        expect.objectContaining({
          message: expect.stringMatching(/the secret of headerKey has a line break or another/),
        }),
      ])
      expect(JSON.stringify(bridge.diagnostics)).not.toContain(JSON.stringify(value))
    },
  )

  test('that is declared as a parameter, too, is no argument', async () => {
    const schemes = {
      key: { type: 'apiKey', in: 'query', name: 'api_key' },
      other: { type: 'apiKey', in: 'header', name: 'X-Other' },
    }
    const parameters = [
      { name: 'api_key', in: 'query', required: true, schema: { type: 'string' } },
      { name: 'x-other', in: 'header', required: true, schema: { type: 'string' } },
    ]
    const file = await aDocument(
      { '/users': { get: anOperation('listUsers', { parameters }) } },
      { security: [{ key: [] }, { other: [] }], components: { securitySchemes: schemes } },
    )
    const { bridge, api } = await serveApi(file, {
      secrets: (host) => ({ key: { host, value: 'key-of-the-api' } }),
    })

    const { tools } = await bridge.list()
    await bridge.call('listUsers', { 'x-other': 'mine' })

    expect(tools[0]?.inputSchema).toMatchObject({ required: ['x-other'] })
    expect(Object.keys(tools[0]?.inputSchema.properties ?? {})).toEqual(['x-other'])
    expect(api.received[0]).toMatchObject({
      target: '/users?api_key=key-of-the-api',
      headers: { 'x-other': 'mine' },
    })
  })

  test('that is optional is left out without a secret, and the call is anonymous', async () => {
    const { bridge, api } = await serveEverything(() => ({}))

    const result = await bridge.call('secureOptional', {})

    expect(result.isError).toBeUndefined()
    expect(api.received[0]?.headers).not.toHaveProperty('x-api-key')
  })

  test.each(['secureHeaderKey', 'secureBoth', 'secureEither'])(
    'of %s without a secret fails before anything is sent, and check says so',
    async (name) => {
      const { bridge, api } = await serveEverything((host) => ({
        basic: toSecrets(host).basic as never,
        cookieKey: toSecrets(host).cookieKey as never,
      }))
      await bridge.list()

      const result = await bridge.call(name, {})

      expect(result).toMatchObject({ isError: true })
      expect(bridge.audit.at(-1)).toMatchObject({ code: 'upstream_credentials' })
      expect(api.received).toEqual([])
      expect(bridge.diagnostics).toContainEqual(
        expect.objectContaining({
          code: 'secret_unbound',
          message: expect.stringMatching(/no secret is bound .*headerKey|queryKey/),
        }),
      )
    },
  )

  test('whose secret is bound to another host sends nothing, not even without it', async () => {
    const canary = await aCanary()
    const { bridge } = await serveHere({
      sources: [
        openApiSource(everything, {
          ...securityOnly,
          server: `http://127.0.0.1:${canary.port}`,
          secrets: toSecrets('api.everything.example'),
        }),
      ],
    })
    await bridge.list()

    for (const name of ['secureHeaderKey', 'secureQueryKey', 'secureBasic', 'secureBoth'])
      expect(await bridge.call(name, {})).toMatchObject({ isError: true })

    expect(canary.connections).toEqual([])
    expect(bridge.diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'secret_unbound',
        message: expect.stringContaining('is bound to the host api.everything.example'),
      }),
    )
  })

  test('of a server that one operation names for itself does not get the secret', async () => {
    const canary = await aCanary()
    const file = await aDocument(
      {
        '/moved': {
          servers: [{ url: `http://127.0.0.1:${canary.port}` }],
          get: anOperation('moved', { security: [{ key: [] }] }),
        },
        '/here': { get: anOperation('here', { security: [{ key: [] }] }) },
      },
      {
        servers: [{ url: 'http://localhost:1/' }],
        components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
      },
    )
    const secrets = { key: { host: 'localhost:1', value: 'very-secret' } }
    const { bridge } = await serveHere({ sources: [openApiSource(file, { secrets })] })

    expect(await bridge.call('moved', {})).toMatchObject({ isError: true })
    expect(canary.connections).toEqual([])
  })

  test('takes precedence over an argument of the same name', async () => {
    const free = { type: 'object', additionalProperties: { type: 'string' } }
    const file = await aDocument(
      {
        '/x': {
          get: anOperation('read', {
            parameters: [
              { name: 'any', in: 'query', schema: free },
              { name: 'jar', in: 'cookie', schema: free },
            ],
            security: [{ query: [], cookie: [], header: [] }],
          }),
        },
      },
      {
        components: {
          securitySchemes: {
            query: { type: 'apiKey', in: 'query', name: 'key' },
            cookie: { type: 'apiKey', in: 'cookie', name: 'session' },
            header: { type: 'apiKey', in: 'header', name: 'X-Key' },
          },
        },
      },
    )
    const { bridge, api } = await serveApi(file, {
      secrets: (host) => ({
        query: { host, value: 'secret-q' },
        cookie: { host, value: 'secret-c' },
        header: { host, value: 'secret-h' },
      }),
    })

    await bridge.call('read', { any: { key: 'mine' }, jar: { session: 'mine' } })

    const { target, headers } = api.received[0] as ReceivedRequest
    expect(target).toBe('/x?key=secret-q')
    expect(headers).toMatchObject({ cookie: 'session=secret-c', 'x-key': 'secret-h' })
  })

  test('leaves no trace in results, lists, diagnostics and the audit', async () => {
    const { bridge } = await serveApi(everything, {
      credentials: accepted,
      secrets: toSecrets,
      source: securityOnly,
      // As APIs do that echo a request.
      respond: ({ headers, target }) => ({
        status: target.includes('basic') ? 400 : 200,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message: 'echo', target, headers }),
      }),
    })
    const names = (await bridge.list()).tools.map(({ name }) => name)
    const results = []
    for (const name of names.filter((one) => one.startsWith('secure')))
      results.push(await bridge.call(name, {}))

    const everythingShown = JSON.stringify([
      results,
      await bridge.list(),
      bridge.diagnostics,
      bridge.audit,
    ])
    expect(results.some((result) => JSON.stringify(result).includes('echo'))).toBe(true)
    for (const text of [...Object.values(sentTexts), 'pass:word 4', 'query key&2', 'cookie;key=3'])
      expect(everythingShown).not.toContain(text)
  })
})

/** How the secrets look in a request. */
const sentTexts: Readonly<Record<string, string>> = {
  headerKey: 'header-key-1',
  queryKey: 'query%20key%262',
  cookieKey: 'cookie%3Bkey=3',
  basic: Buffer.from('ada:pass:word 4').toString('base64'),
  bearer: 'bearer-5',
  token: 'token-number-6',
  code: 'code-number-7',
  openId: 'open-id-number-8',
}

describe('the value of a secret', () => {
  const serveKey = async (scheme: object, value: string | (() => Promise<string | undefined>)) =>
    serveApi(
      await aDocument(
        { '/things': { get: anOperation('read', { security: [{ key: [] }] }) } },
        { components: { securitySchemes: { key: scheme } } },
      ),
      {
        credentials: { key: { accepts: () => true } },
        secrets: (host) => ({ key: { host, value } }),
      },
    )
  const bearer = { type: 'http', scheme: 'bearer' }

  test('is sent in a cookie as it is, as far as cookies can carry it', async () => {
    const cookie = { type: 'apiKey', in: 'cookie', name: 'session' }
    const { bridge, api } = await serveKey(cookie, 'ab+c/d==; "é')

    await bridge.call('read', {})

    expect(api.received[0]?.headers.cookie).toBe('session=ab+c/d==%3B%20%22%C3%A9')
  })

  test.each<[string, string | (() => Promise<string>)]>([
    ['a text', ''],
    ['a function', async () => ''],
  ])('that is empty is not sent: %s', async (_, value) => {
    const { bridge, api } = await serveKey(bearer, value)

    expect(await bridge.call('read', {})).toMatchObject({ isError: true })

    expect(bridge.audit.at(-1)).toMatchObject({ code: 'upstream_credentials' })
    expect(api.received).toEqual([])
  })

  test('is not waited for when the call is cancelled', async () => {
    const stopping = new AbortController()
    const { bridge, api } = await serveKey(bearer, () => {
      stopping.abort()
      return new Promise(() => {})
    })

    const result = await bridge.call('read', {}, { signal: stopping.signal })

    expect(result).toMatchObject({ isError: true })
    expect(api.received).toEqual([])
  })
})

describe('OAuth 2 client credentials', () => {
  interface TokenServer {
    readonly tokenRequests: readonly { readonly form: URLSearchParams; readonly basic: string }[]
    readonly issued: readonly string[]
    /** The API accepts no earlier token. */
    revoke(): void
  }

  async function serveClient({
    expiresIn = 3600,
    status = 200,
    tokenAuth = 'basic' as 'basic' | 'body',
    rejectsAll = false,
    callsPerHour = 1000,
  } = {}) {
    const tokenRequests: { form: URLSearchParams; basic: string }[] = []
    const issued: string[] = []
    let firstValid = 0
    const file = await aDocument(
      {
        '/things': {
          get: anOperation('read', { security: [{ client: ['things:read', 'a b"'] }] }),
        },
      },
      {
        components: {
          securitySchemes: {
            client: {
              type: 'oauth2',
              flows: { clientCredentials: { tokenUrl: '/oauth/token', scopes: {} } },
            },
          },
        },
      },
    )
    const api = await anApi(new ApiDocument(file), {
      credentials: {
        client: { accepts: (value) => !rejectsAll && issued.indexOf(value) >= firstValid },
      },
      respond: ({ target, bytes, headers, method }) => {
        if (target !== '/oauth/token' || method !== 'POST') return undefined
        const basic = Buffer.from((headers.authorization ?? '').replace('Basic ', ''), 'base64')
        tokenRequests.push({ form: new URLSearchParams(bytes.toString()), basic: basic.toString() })
        issued.push(`access-${issued.length + 1}`)
        const token = { access_token: issued.at(-1), token_type: 'Bearer', expires_in: expiresIn }
        const body = JSON.stringify(status === 200 ? token : { error: 'invalid_client' })
        return {
          status,
          headers: { 'content-type': 'application/json', location: '/elsewhere' },
          body,
        }
      },
    })
    const secret = { host: api.host, clientId: 'id:1', clientSecret: 's e/cret', tokenAuth }
    const { bridge } = await serveHere({
      sources: [openApiSource(file, { server: api.url, secrets: { client: secret } })],
      policy: { rules: [{ match: '*', rates: [{ calls: callsPerHour, seconds: 3600 }] }] },
    })
    const tokens: TokenServer = {
      tokenRequests,
      issued,
      revoke: () => (firstValid = issued.length),
    }
    return { bridge, api, tokens }
  }

  const readsOf = (received: readonly ReceivedRequest[]) =>
    received.filter(({ target }) => target === '/things')

  test('get one token for calls at the same time and later', async () => {
    const { bridge, api, tokens } = await serveClient()

    const results = await Promise.all([bridge.call('read', {}), bridge.call('read', {})])
    results.push(await bridge.call('read', {}))

    expect(results.map(({ isError }) => isError)).toEqual([undefined, undefined, undefined])
    expect(tokens.tokenRequests).toEqual([
      {
        form: new URLSearchParams({ grant_type: 'client_credentials', scope: 'things:read a b"' }),
        basic: 'id%3A1:s+e%2Fcret',
      },
    ])
    expect(readsOf(api.received).map(({ problems }) => problems)).toEqual([[], [], []])
  })

  test('can be sent in the body', async () => {
    const { bridge, tokens } = await serveClient({ tokenAuth: 'body' })

    await bridge.call('read', {})

    const [{ form, basic } = {}] = tokens.tokenRequests as [TokenServer['tokenRequests'][0]]
    expect(Object.fromEntries(form ?? [])).toMatchObject({
      client_id: 'id:1',
      client_secret: 's e/cret',
    })
    expect(basic).toBe('')
  })

  test('get a new token when the old one expires', async () => {
    const { bridge, tokens } = await serveClient({ expiresIn: 0 })

    await bridge.call('read', {})
    await bridge.call('read', {})

    expect(tokens.issued).toHaveLength(2)
  })

  test('get a new token, once, when the API rejects the old one', async () => {
    const { bridge, api, tokens } = await serveClient()
    await bridge.call('read', {})
    tokens.revoke()

    expect((await bridge.call('read', {})).isError).toBeUndefined()
    expect(tokens.issued).toHaveLength(2)
    expect(readsOf(api.received)).toHaveLength(3)
  })

  test('are renewed once for all calls at the same time whose token was rejected', async () => {
    const { bridge, api, tokens } = await serveClient()
    await bridge.call('read', {})
    tokens.revoke()

    const results = await Promise.all(Array.from({ length: 20 }, () => bridge.call('read', {})))

    expect(results.filter(({ isError }) => isError)).toEqual([])
    expect(tokens.issued).toHaveLength(2)
    expect(readsOf(api.received)).toHaveLength(41)
  })

  test('are not renewed again when the API rejects a new token', async () => {
    const { bridge, api, tokens } = await serveClient({ rejectsAll: true })

    const result = await bridge.call('read', {})

    expect(result).toMatchObject({ isError: true })
    expect([readsOf(api.received).length, tokens.issued.length]).toEqual([1, 1])
  })

  test('are not renewed in the same call if the rate limit allows no further request', async () => {
    const { bridge, api, tokens } = await serveClient({ callsPerHour: 2 })
    await bridge.call('read', {})
    tokens.revoke()

    const result = await bridge.call('read', {})

    expect(result).toMatchObject({ isError: true })
    expect(JSON.stringify(result)).toContain('not repeated with a new one')
    expect(readsOf(api.received)).toHaveLength(2)
  })

  test.each([400, 302, 500])(
    'send nothing to the API if the token endpoint answers %i',
    async (status) => {
      const { bridge, api } = await serveClient({ status })

      const result = await bridge.call('read', {})

      expect(result).toMatchObject({ isError: true })
      expect(JSON.stringify(result)).not.toContain('invalid_client')
      expect(readsOf(api.received)).toEqual([])
    },
  )

  test('are sent to no token endpoint on another host', async () => {
    const canary = await aCanary()
    const file = await aDocument(
      { '/things': { get: anOperation('read', { security: [{ client: [] }] }) } },
      {
        components: {
          securitySchemes: {
            client: {
              type: 'oauth2',
              flows: {
                clientCredentials: { tokenUrl: `http://127.0.0.1:${canary.port}/t`, scopes: {} },
              },
            },
          },
        },
      },
    )
    const { bridge, api } = await serveApi(file, {
      secrets: (host) => ({ client: { host, clientId: 'id', clientSecret: 'secret' } }),
    })
    await bridge.list()

    expect(await bridge.call('read', {})).toMatchObject({ isError: true })
    expect([canary.connections, api.received]).toEqual([[], []])
    expect(bridge.diagnostics).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining('see "tokenHost"') }),
    )
  })
})

test('the token endpoint of a client is shown by explain, and egress that refuses it by check', async () => {
  const tokenUrl = 'https://auth.acme.example/token'
  const client = { type: 'oauth2', flows: { clientCredentials: { tokenUrl, scopes: {} } } }
  const file = await aDocument(
    { '/things': { get: anOperation('read', { security: [{ client: [] }] }) } },
    { components: { securitySchemes: { client } } },
  )
  const secret = { clientId: 'id', clientSecret: 'secret', tokenHost: 'auth.acme.example' }
  const { bridge } = await serveHere({
    sources: [
      openApiSource(file, {
        server: 'https://localhost',
        secrets: { client: { host: 'localhost', ...secret } },
      }),
    ],
    policy: { egress: { allow: ['localhost'] } },
  })

  await bridge.list()
  const steps = await bridge.explain('read', {})

  expect(bridge.diagnostics).toEqual([
    expect.objectContaining({
      code: 'egress_refused',
      message: expect.stringContaining('auth.acme.example'),
    }),
  ])
  expect(steps?.map(({ why }) => why)).toContain('client as client secret to auth.acme.example')
})

test('the query of a server or token URL, and its user and password, are not shown by explain', async () => {
  const tokenUrl = 'https://user:hidden@auth.acme.example/token?key=hidden'
  const client = { type: 'oauth2', flows: { clientCredentials: { tokenUrl, scopes: {} } } }
  const file = await aDocument(
    { '/things': { get: anOperation('read', { security: [{ client: [] }] }) } },
    { components: { securitySchemes: { client } } },
  )
  const host = 'api.acme.example'
  const secret = { host, clientId: 'id', clientSecret: 'secret', tokenHost: 'auth.acme.example' }
  const server = `https://${host}/v1?key=hidden`
  const { bridge } = await serveHere({
    sources: [openApiSource(file, { server, secrets: { client: secret } })],
  })

  await bridge.list()
  const steps = JSON.stringify(await bridge.explain('read', {}))

  expect(steps).toContain('https://auth.acme.example/token')
  expect(steps).toContain('https://api.acme.example/v1')
  expect(steps).not.toContain('hidden')
  expect(JSON.stringify(bridge.diagnostics)).not.toContain('hidden')
})

describe('without TLS', () => {
  const key = { type: 'apiKey', in: 'header', name: 'X-Key' }

  async function diagnosticsOf(
    rest: object,
    options: Parameters<typeof openApiSource>[1],
  ): Promise<string[]> {
    const scheme = Object.keys(options?.secrets ?? {})[0] as string
    const file = await aDocument(
      { '/things': { get: anOperation('read', { security: [{ [scheme]: [] }] }) } },
      { ...rest },
    )
    const { bridge } = await serveHere({ sources: [openApiSource(file, options)] })
    await bridge.list()
    return bridge.diagnostics.map(({ code, message }) => `${code}: ${message}`)
  }

  const keyed = { components: { securitySchemes: { key } } }
  const secrets = { key: { host: 'api.acme.example', value: 'key-1' } }

  test('a server of the document gets no secret, and check says what allows it', async () => {
    const servers = [{ url: 'http://api.acme.example' }]

    expect(await diagnosticsOf({ ...keyed, servers }, { secrets })).toEqual([
      expect.stringMatching(
        /^secret_unbound: .*key is not sent without TLS to http:\/\/api\.acme\.example,.*"server"/,
      ),
    ])
  })

  test('a server of the operator gets the secret, with a warning', async () => {
    const server = 'http://api.acme.example'

    expect(await diagnosticsOf(keyed, { secrets, server })).toEqual([
      expect.stringMatching(/^secret_in_plain_text: /),
    ])
  })

  test('a token endpoint gets no client secret', async () => {
    const tokenUrl = 'http://auth.acme.example/token'
    const client = { type: 'oauth2', flows: { clientCredentials: { tokenUrl, scopes: {} } } }
    const secret = {
      host: 'api.acme.example',
      tokenHost: 'auth.acme.example',
      clientId: 'id',
      clientSecret: 'secret',
    }

    expect(
      await diagnosticsOf(
        { components: { securitySchemes: { client } } },
        { secrets: { client: secret }, server: 'https://api.acme.example' },
      ),
    ).toEqual([
      expect.stringMatching(/^secret_unbound: .*not sent without TLS to the tokenUrl http:/),
    ])
  })
})
