import {
  Client,
  InsufficientScopeError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'

/** Protocol era and transport of the official clients. */
export const clientKinds = [
  '2026 over HTTP',
  '2025 over HTTP',
  '2026 over stdio',
  '2025 over stdio',
] as const

export type ClientKind = (typeof clientKinds)[number]

export interface ClientOptions {
  /** Answers elicitation requests; without it the client has no elicitation capability. */
  readonly person?: Person
  readonly headers?: Readonly<Record<string, string>>
  readonly mount?: string
  /** Further arguments for the server that a client over stdio starts. */
  readonly serverArgs?: readonly string[]
}

export type Person = (message: string) => PersonAnswer | Promise<PersonAnswer>

export interface PersonAnswer {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: Record<string, boolean>
}

export const personAnswers = {
  yes: { action: 'accept', content: { approve: true } },
  no: { action: 'decline' },
  nothing: { action: 'cancel' },
} as const satisfies Record<string, PersonAnswer>

/** The result of a call, in the same form for all eras and transports. */
export interface CallAnswer {
  /** `done`, the code of a failure, or the code of a protocol error. */
  readonly verdict: string
  readonly text: string
  readonly data: unknown
  readonly details: Record<string, unknown>
  /** Keys without `dev.drawbridge/`. */
  readonly meta: Record<string, unknown>
}

export interface CallOptions {
  /** Keys without `dev.drawbridge/`. */
  readonly meta?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface OfficialClient {
  call(name: string, input: Record<string, unknown>, options?: CallOptions): Promise<CallAnswer>
  /** Lists the tools without the client's cache. */
  tools(): Promise<Tool[]>
  /** Messages of the elicitation requests, in order. */
  readonly shown: string[]
  /** Standard error of a server over stdio. */
  stderr(): string
  close(): Promise<void>
}

export interface Tool {
  readonly name: string
  readonly inputSchema: { readonly properties?: Record<string, unknown> }
  readonly _meta: Record<string, unknown>
}

export const prefix = 'dev.drawbridge/'

interface ServerAddress {
  readonly url: string
  readonly stdio: {
    readonly command: string
    readonly args: string[]
    readonly cwd: string
    readonly env: Record<string, string>
  }
}

export async function openClient(
  clientKind: ClientKind,
  options: ClientOptions,
  address: ServerAddress,
): Promise<OfficialClient> {
  const shown: string[] = []
  const elicit = async ({ params }: { params: { message: string } }) => {
    shown.push(params.message)
    return (await options.person?.(params.message)) ?? personAnswers.nothing
  }
  const { client, stderr } = clientKind.startsWith('2026')
    ? await openModern(clientKind, options, address, elicit)
    : await openLegacy(clientKind, options, address, elicit)
  return {
    shown,
    stderr,
    close: () => client.close(),
    tools: async () => (await client.listTools(undefined, { cacheMode: 'refresh' })).tools,
    async call(name, input, { meta = {}, signal } = {}) {
      const entries = Object.entries(meta).map(([key, value]) => [`${prefix}${key}`, value])
      const params = {
        name,
        arguments: input,
        ...(entries.length > 0 && { _meta: Object.fromEntries(entries) }),
      }
      const limits = { timeout: 60_000, ...(signal && { signal }) }
      try {
        return toCallAnswer(await client.callTool(params, limits))
      } catch (error) {
        return toProtocolAnswer(error as ProtocolError)
      }
    },
  }
}

type Elicit = (request: { params: { message: string } }) => Promise<PersonAnswer>

async function openModern(
  clientKind: ClientKind,
  options: ClientOptions,
  address: ServerAddress,
  elicit: Elicit,
) {
  const client = new Client(identity, {
    versionNegotiation: { mode: { pin: '2026-07-28' } },
    capabilities: options.person ? { elicitation: { form: {} } } : {},
  })
  if (options.person) client.setRequestHandler('elicitation/create', elicit as never)
  if (clientKind.endsWith('HTTP')) {
    const requestInit = { headers: { ...options.headers } }
    await client.connect(new StreamableHTTPClientTransport(new URL(address.url), { requestInit }))
    return { client: client as unknown as AnyClient, stderr: () => '' }
  }
  const transport = new StdioClientTransport({ ...address.stdio, stderr: 'pipe' })
  const stderr = collectText(transport.stderr)
  await client.connect(transport)
  return { client: client as unknown as AnyClient, stderr }
}

async function openLegacy(
  clientKind: ClientKind,
  options: ClientOptions,
  address: ServerAddress,
  elicit: Elicit,
) {
  const client = new ClientV1(identity, {
    capabilities: options.person ? { elicitation: {} } : {},
  })
  if (options.person) client.setRequestHandler(ElicitRequestSchema, elicit as never)
  // Version 1 has a result schema as second parameter.
  const adapter: AnyClient = {
    callTool: (params, limits) => client.callTool(params as never, undefined, limits),
    listTools: async () => (await client.listTools()) as unknown as { tools: Tool[] },
    close: () => client.close(),
  }
  if (clientKind.endsWith('HTTP')) {
    const requestInit = { headers: { ...options.headers } }
    await client.connect(new HttpV1(new URL(address.url), { requestInit }) as never)
    return { client: adapter, stderr: () => '' }
  }
  const transport = new StdioV1({ ...address.stdio, stderr: 'pipe' })
  const stderr = collectText(transport.stderr)
  await client.connect(transport)
  return { client: adapter, stderr }
}

const identity = { name: 'test', version: '1.0.0' }

interface AnyClient {
  callTool(params: object, options: object): Promise<object>
  listTools(params: undefined, options: object): Promise<{ tools: Tool[] }>
  close(): Promise<void>
}

function collectText(stream: unknown): () => string {
  let text = ''
  ;(stream as NodeJS.ReadableStream).on('data', (chunk) => {
    text += String(chunk)
  })
  return () => text
}

interface Result {
  readonly isError?: boolean
  readonly content?: readonly { readonly type: string; readonly text?: string }[]
  readonly structuredContent?: unknown
  readonly _meta?: Readonly<Record<string, unknown>>
}

function toCallAnswer({
  isError,
  content = [],
  structuredContent,
  _meta = {},
}: Result): CallAnswer {
  const meta = Object.fromEntries(
    Object.entries(_meta).flatMap(([key, value]) =>
      key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [],
    ),
  )
  const failure = meta.failure as { code: string; details?: Record<string, unknown> } | undefined
  return {
    verdict: failure?.code ?? (isError ? 'error' : 'done'),
    text: content.map(({ text }) => text ?? '').join('\n'),
    data: structuredContent,
    details: failure?.details ?? {},
    meta,
  }
}

interface ProtocolError extends Error {
  readonly code?: number | string
  readonly data?: Record<string, unknown>
}

function toProtocolAnswer(error: ProtocolError): CallAnswer {
  const { code, message, data = toChallenge(error) } = error
  const verdict = String(data.code ?? code ?? error.name)
  return { verdict, text: message, data: undefined, details: data, meta: {} }
}

/** The modern client exposes only the challenge of a 403, and the legacy one only the body. */
function toChallenge(error: Error): Record<string, unknown> {
  if (error instanceof InsufficientScopeError)
    return { code: 'insufficient_scope', missing: error.requiredScope?.split(' ') }
  const body = /\{"jsonrpc".*\}/.exec(error.message)?.[0]
  return body === undefined ? {} : JSON.parse(body).error.data
}
