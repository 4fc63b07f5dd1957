import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { onTestFinished } from 'vitest'

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
  const transport = new HttpV1(new URL(url), { requestInit: { headers } })
  // The two packages disagree about `exactOptionalPropertyTypes`.
  await client.connect(transport as never)
  onTestFinished(() => client.close())
  return client
}
