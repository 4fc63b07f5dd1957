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

/** The current official client, pinned to 2026-07-28. */
export async function aModernClient(
  url: string,
  headers: Headers = {},
  options: ClientOptions = {},
): Promise<Client> {
  const clientOptions = { versionNegotiation: { mode: { pin: '2026-07-28' } }, ...options }
  const client = new Client(identity, clientOptions)
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  )
  onTestFinished(() => client.close())
  return client
}

/** The official client of 2025, with an open session. */
export async function aClientOf2025(url: string, headers: Headers = {}): Promise<ClientV1> {
  const client = new ClientV1(identity)
  const stream = new Latch()
  const transport = new HttpV1(new URL(url), {
    requestInit: { headers },
    fetch: (...request) => fetchReportingStreams(request, stream.open),
  })
  // The two packages disagree about `exactOptionalPropertyTypes`.
  await client.connect(transport as never)
  onTestFinished(() => client.close())
  await stream.opened
  return client
}

/**
 * Reports when the notification stream is open: the 2025 client opens it in the background, and
 * notifications sent before that are lost.
 */
export async function fetchReportingStreams(
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
