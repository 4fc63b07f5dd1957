import http from 'node:http'
import net from 'node:net'
import { describe, expect, test } from 'vitest'
import { defineTool, definitionSource, z } from '../../src/index.ts'
import { aConfig, aProject, aToolModule } from '../support/a-project.ts'
import { drawbridge, startServing } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'
import { aModernPost, anInitializePost, type HttpPost, post } from '../support/wire.ts'

const ping = defineTool({
  name: 'ping',
  description: 'Answers.',
  category: 'analysis',
  schema: z.object({}),
  execute: () => 'pong',
})
const guardedOptions = {
  sources: [definitionSource([ping])],
  http: {
    hosts: ['bridge.example', 'xn--bcher-kva.example', 'ported.example:8080'],
    origins: ['https://app.example'],
  },
}

/** Host headers that the configuration above accepts. PORT is the listening port. */
const hosts: Readonly<Record<string, boolean>> = {
  '127.0.0.1:PORT': true,
  '127.0.0.1': true,
  'localhost:PORT': true,
  'LocalHost:PORT': true,
  '[::1]:PORT': true,
  'localhost:1': true, // a bare host allows every port
  'bridge.example': true,
  'BRIDGE.example:443': true,
  'xn--bcher-kva.example': true,
  'ported.example:8080': true,
  'ported.example:8081': false,
  'ported.example': false,
  'localhost.:PORT': false,
  'bridge.example.': false,
  'evil.example:PORT': false,
  'localhost.evil.example': false,
  'xn--lcalhost-k8a:PORT': false,
  'xn--bridg-fsa.example': false,
  '127.0.0.1.nip.example:PORT': false,
  '[::ffff:127.0.0.1]:PORT': false,
  '0.0.0.0:PORT': false,
  '2130706433:PORT': false,
  'user@localhost:PORT': false,
  'localhost:PORT, evil.example': false,
  null: false,
}

/** Accepted origins; `own` means only when the origin equals the Host. */
const origins: Readonly<Record<string, 'yes' | 'own' | 'no'>> = {
  none: 'yes',
  'https://app.example': 'yes',
  'HTTPS://App.Example': 'yes',
  'http://127.0.0.1:PORT': 'own',
  'http://LOCALHOST:PORT': 'own',
  'http://[::1]:PORT': 'own',
  'https://127.0.0.1:PORT': 'no', // other scheme
  'http://127.0.0.1:1': 'no', // other port
  'http://app.example': 'no',
  'https://app.example:8443': 'no',
  'https://app.example.': 'no',
  'https://app.example.evil.example': 'no',
  'https://xn--pp-via.example': 'no',
  'http://evil.example': 'no',
  'https://app.example, http://evil.example': 'no',
  'file://': 'no',
  null: 'no',
}

/** The status of each route for an accepted request. */
const routes: Readonly<Record<string, { path: string; message?: HttpPost; status: number }>> = {
  'a request of 2026 to /mcp': { path: '/mcp', message: aModernPost('tools/list'), status: 200 },
  'a request of 2025 to /mcp': { path: '/mcp', message: anInitializePost(), status: 200 },
  '/health': { path: '/health', status: 200 },
  'an unknown route': { path: '/no/such/route', status: 404 },
}

describe('Host and Origin checks apply to every route (DNS rebinding)', () => {
  test.each(Object.keys(routes))('on %s', async (name) => {
    const { port } = await serveHere(guardedOptions)
    const { path, message, status } = routes[name] as (typeof routes)[string]
    const send = createSender(port)
    const expected: Record<string, number> = {}
    const actual: Record<string, number> = {}

    for (const [host, isAccepted] of Object.entries(hosts))
      for (const [origin, rule] of Object.entries(origins)) {
        const row = `Host ${host}, Origin ${origin}`
        const isOwn = origin.toLowerCase() === `http://${host}`.toLowerCase()
        const passes = isAccepted && (rule === 'yes' || (rule === 'own' && isOwn))
        expected[row] = passes ? status : 403
        const { status: actualStatus, headers } = await send(path, { host, origin }, message)
        actual[row] = actualStatus
        if (actualStatus === 403) expect(headers['mcp-session-id'], row).toBeUndefined()
      }

    expect(actual).toEqual(expected)
  })

  test('a foreign Origin is refused with a JSON-RPC error even with a valid Host', async () => {
    const { url } = await serveHere(guardedOptions)

    const response = await post(url, aModernPost('tools/list'), {
      origin: 'http://evil.example',
    })

    expect(response.status).toBe(403)
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32000, message: expect.stringContaining('http://evil.example') },
    })
  })

  test.each(['GET', 'DELETE', 'OPTIONS', 'HEAD', 'PUT'])(
    'a foreign Origin is refused for method %s',
    async (method) => {
      const { url } = await serveHere(guardedOptions)

      const response = await fetch(url, { method, headers: { origin: 'http://evil.example' } })

      expect(response.status).toBe(403)
    },
  )
})

describe('a missing or duplicate Host or Origin', () => {
  const get = (lines: string) => `GET /health HTTP/${lines}\r\nConnection: close\r\n\r\n`

  test.each([
    ['without a Host', '1.1', /^HTTP\/1\.1 400 /],
    ['of HTTP/1.0 without a Host', '1.0', /^HTTP\/1\.1 403 /],
    ['with an empty Host', '1.1\r\nHost:', /^HTTP\/1\.1 40[03] /],
    ['with an empty Origin', '1.1\r\nHost: localhost\r\nOrigin:', /^HTTP\/1\.1 403 /],
    [
      'with a good Origin before a bad one',
      '1.1\r\nHost: localhost\r\nOrigin: https://app.example\r\nOrigin: http://evil.example',
      /^HTTP\/1\.1 403 /,
    ],
    [
      'with a good Host before a bad one',
      '1.1\r\nHost: localhost\r\nHost: evil.example',
      /^HTTP\/1\.1 40[03] /,
    ],
    [
      'with a bad Host before a good one',
      '1.1\r\nHost: evil.example\r\nHost: localhost',
      /^HTTP\/1\.1 40[03] /,
    ],
  ])('is refused: %s', async (_, lines, refusal) => {
    const { port } = await serveHere(guardedOptions)

    expect(await sendRaw(port, get(lines))).toMatch(refusal)
  })

  test('is not replaced by an absolute request target', async () => {
    const { port } = await serveHere(guardedOptions)

    const answer = await sendRaw(
      port,
      'GET http://localhost/health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
    )

    expect(answer).toMatch(/^HTTP\/1\.1 403 /)
  })
})

test('an allowed origin receives CORS headers', async () => {
  const { url } = await serveHere(guardedOptions)
  const origin = 'https://app.example'

  const preflight = await fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,mcp-protocol-version,mcp-method',
    },
  })
  const answer = await post(url, aModernPost('tools/list'), { origin })

  expect(preflight.status).toBeLessThan(300)
  expect(preflight.headers.get('access-control-allow-origin')).toBe(origin)
  expect(preflight.headers.get('access-control-allow-headers')).toMatch(/mcp-method/i)
  expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
})

test.each(['https://app.example/', 'https://app.example:443', 'HTTPS://APP.EXAMPLE'])(
  'an origin configured as %s matches https://app.example',
  async (configuredOrigin) => {
    const { url } = await serveHere({ ...guardedOptions, http: { origins: [configuredOrigin] } })

    const response = await post(url, aModernPost('tools/list'), {
      origin: 'https://app.example',
    })

    expect(response.status).toBe(200)
  },
)

describe('the listening address', () => {
  const files = {
    'drawbridge.yaml': aConfig(),
    'guarded.yaml': aConfig(
      `http:\n  tokens:\n    - { hash: "sha256:${'0'.repeat(64)}", subject: ann, scopes: [] }\n`,
    ),
    'tools/ping.ts': aToolModule({ name: 'ping' }),
  }

  test('is loopback only by default', async () => {
    const { url } = await startServing([], { cwd: await aProject(files) })
    const { hostname, port } = new URL(url)

    expect(hostname).toBe('127.0.0.1')
    // A server bound to all addresses would also accept this one.
    await expect(connect('127.0.0.2', Number(port))).rejects.toThrow('ECONNREFUSED')
  })

  test.each(['0.0.0.0', '::', '192.0.2.1'])(
    'needs tokens when it is public, reported in one line: --host %s',
    async (host) => {
      const cwd = await aProject(files)

      const { code, stdout, stderr } = await drawbridge(['serve', '--host', host, '--port', '0'], {
        cwd,
      })

      expect(code).toBe(2)
      expect(stdout).toBe('')
      expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(/token/)])
      expect(stderr).toContain(host)
    },
  )

  test('without tokens on a public host ends the process with --watch too', async () => {
    const cwd = await aProject(files)

    const { code } = await drawbridge(['serve', '--host', '0.0.0.0', '--watch'], { cwd })

    expect(code).toBe(2)
  })

  test('on a public host with tokens answers 401 without one', async () => {
    const cwd = await aProject(files)

    const { url } = await startServing(['guarded.yaml', '--host', '0.0.0.0'], { cwd })
    const { port } = new URL(url)

    const response = await post(`http://127.0.0.1:${port}/mcp`, aModernPost('tools/list'))
    expect(response.status).toBe(401)
    await expect(connect('127.0.0.2', Number(port))).resolves.toBeUndefined()
  })

  test('given with --host is an accepted Host header', async () => {
    const cwd = await aProject(files)

    const { url } = await startServing(['--host', '127.0.0.2'], { cwd })

    expect((await post(url, aModernPost('tools/list'))).status).toBe(200)
  })

  test('is bracketed for IPv6', async () => {
    const cwd = await aProject(files)

    const { url } = await startServing(['--host', '::1'], { cwd })

    expect(url).toContain('http://[::1]:')
    expect((await post(url, aModernPost('tools/list'))).status).toBe(200)
  })
})

interface RequestNames {
  readonly host: string
  readonly origin: string
}

/** Sends requests with arbitrary Host and Origin headers, which `fetch` forbids. */
function createSender(port: number) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const withPort = (text: string) => text.replace('PORT', String(port))
  return (path: string, { host, origin }: RequestNames, message?: HttpPost) =>
    new Promise<{ status: number; headers: http.IncomingHttpHeaders }>((resolve, reject) => {
      const headers = {
        ...message?.headers,
        host: withPort(host),
        ...(origin !== 'none' && { origin: withPort(origin) }),
      }
      const method = message ? 'POST' : 'GET'
      http
        .request({ host: '127.0.0.1', port, path, method, headers, agent }, (response) => {
          response.resume()
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers }),
          )
        })
        .on('error', reject)
        .end(message?.body)
    })
}

/** Sends raw bytes and returns the whole response. */
const sendRaw = (port: number, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = ''
    net
      .connect(port, '127.0.0.1', function (this: net.Socket) {
        this.write(bytes)
      })
      .setEncoding('utf8')
      .on('data', (text: string) => {
        answer += text
      })
      .on('end', () => resolve(answer))
      .on('error', reject)
  })

const connect = (host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = net
      .connect(port, host, () => {
        socket.destroy()
        resolve()
      })
      .on('error', reject)
  })
