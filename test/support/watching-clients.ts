import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { onTestFinished } from 'vitest'
import type { ClientKind } from './client-kinds.ts'
import { Latch } from './latch.ts'
import { fetchReportingStreams } from './official-clients.ts'
import { main } from './run-cli.ts'

/** The server of a watcher: the URL of a running one, or the target of one to start over stdio. */
export interface ServerLocation {
  readonly url: string
  readonly what: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface ToolResult {
  readonly isError?: boolean
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: unknown
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** An official client that records change notifications, for all eras and transports. */
export interface Watcher {
  /** Notifications in order: `tools`, `resources`, or the URI of an updated resource. */
  readonly notifications: string[]
  tools(): Promise<
    readonly {
      readonly name: string
      readonly description?: string | undefined
      readonly inputSchema: object
    }[]
  >
  names(): Promise<readonly string[]>
  resources(): Promise<
    readonly { readonly uri: string; readonly name: string; readonly title?: string }[]
  >
  read(uri: string): Promise<unknown>
  call(name: string, input?: Record<string, unknown>): Promise<ToolResult>
  /** Subscribes to list changes, and to these resources. */
  watch(...uris: readonly string[]): Promise<void>
}

const identity = { name: 'watcher', version: '1.0.0' }

export const aWatcher = (clientKind: ClientKind, location: ServerLocation): Promise<Watcher> =>
  clientKind.startsWith('2026')
    ? aModernWatcher(clientKind, location)
    : aWatcherOf2025(clientKind, location)

const toStdio = ({ what }: ServerLocation) => ({
  command: process.execPath,
  args: [main, 'serve', what, '--stdio'],
  stderr: 'ignore' as const,
})

async function aModernWatcher(clientKind: ClientKind, location: ServerLocation): Promise<Watcher> {
  const client = new Client(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  const requestInit = { headers: { ...location.headers } }
  await client.connect(
    clientKind.endsWith('HTTP')
      ? new StreamableHTTPClientTransport(new URL(location.url), { requestInit })
      : new StdioClientTransport(toStdio(location)),
  )
  onTestFinished(() => client.close())
  const notifications: string[] = []
  client.setNotificationHandler(
    'notifications/tools/list_changed',
    () => void notifications.push('tools'),
  )
  client.setNotificationHandler(
    'notifications/resources/list_changed',
    () => void notifications.push('resources'),
  )
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void notifications.push(params.uri),
  )
  const withoutCache = { cacheMode: 'refresh' } as const
  const tools = async () => (await client.listTools(undefined, withoutCache)).tools
  return {
    notifications,
    tools,
    names: async () => (await tools()).map(({ name }) => name),
    resources: async () => (await client.listResources(undefined, withoutCache)).resources as never,
    read: async (uri) => toValue(await client.readResource({ uri })),
    call: async (name, input = {}) =>
      (await client.callTool({ name, arguments: input })) as ToolResult,
    watch: async (...uris) => {
      await client.listen({
        toolsListChanged: true,
        resourcesListChanged: true,
        ...(uris.length > 0 && { resourceSubscriptions: [...uris] }),
      })
    },
  }
}

async function aWatcherOf2025(clientKind: ClientKind, location: ServerLocation): Promise<Watcher> {
  const client = new ClientV1(identity)
  const stream = new Latch()
  const requestInit = { headers: { ...location.headers } }
  await client.connect(
    (clientKind.endsWith('HTTP')
      ? new HttpV1(new URL(location.url), {
          requestInit,
          fetch: (...request) => fetchReportingStreams(request, stream.open),
        })
      : new StdioV1(toStdio(location))) as never,
  )
  onTestFinished(() => client.close())
  const notifications: string[] = []
  client.setNotificationHandler(
    ToolListChangedNotificationSchema,
    () => void notifications.push('tools'),
  )
  client.setNotificationHandler(
    ResourceListChangedNotificationSchema,
    () => void notifications.push('resources'),
  )
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => void notifications.push(params.uri),
  )
  const tools = async () => (await client.listTools()).tools as never
  return {
    notifications,
    tools,
    names: async () => ((await tools()) as { name: string }[]).map(({ name }) => name),
    resources: async () => (await client.listResources()).resources as never,
    read: async (uri) => toValue(await client.readResource({ uri })),
    call: async (name, input = {}) => (await client.callTool({ name, arguments: input })) as never,
    watch: async (...uris) => {
      for (const uri of uris) await client.subscribeResource({ uri })
      if (clientKind.endsWith('HTTP')) await stream.opened
    },
  }
}

const toValue = ({ contents }: { contents: readonly object[] }): unknown =>
  JSON.parse((contents[0] as { text: string }).text)
