import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { onTestFinished } from 'vitest'
import { Latch } from './latch.ts'

const identity = { name: 'test', version: '1.0.0' }
type Headers = Readonly<Record<string, string>>

/** The official client of today, speaking 2026-07-28 and nothing else. */
export async function aModernClient(
  url: string,
  headers: Headers = {},
  options: ClientOptions = {},
): Promise<Client> {
  const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' } }, ...options }
  const client = new Client(identity, pinned)
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  )
  onTestFinished(() => client.close())
  return client
}

/** The official client of 2025, with a session. */
export async function aClientOf2025(url: string, headers: Headers = {}): Promise<ClientV1> {
  const client = new ClientV1(identity)
  const stream = new Latch()
  const transport = new HttpV1(new URL(url), {
    requestInit: { headers },
    fetch: (...request) => fetchAndTell(request, stream.open),
  })
  // The two packages disagree about `exactOptionalPropertyTypes`.
  await client.connect(transport as never)
  onTestFinished(() => client.close())
  await stream.opened
  return client
}

/**
 * The client of 2025 opens its stream of notifications beside everything else, and does not say when:
 * what the server tells before that is lost.
 */
export async function fetchAndTell(
  [url, init]: Parameters<typeof fetch>,
  onStream: () => void,
): Promise<Response> {
  const isStream = (init?.method ?? 'GET') === 'GET'
  try {
    return await fetch(url, init)
  } finally {
    if (isStream) onStream()
  }
}
