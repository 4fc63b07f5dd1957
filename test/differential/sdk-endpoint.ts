import { randomUUID } from 'node:crypto'
import {
  createMcpHandler,
  type EventStore,
  isInitializeRequest,
  isLegacyRequest,
  type JSONRPCMessage,
  type McpHttpHandler,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { HttpEndpoint } from '../../src/mcp/http-endpoint.ts'
import type { HttpReply, HttpRequest } from '../../src/mcp/http-port.ts'
import { SessionRegistry } from '../../src/mcp/legacy/session-registry.ts'
import { methods } from '../../src/mcp/methods.ts'
import type { Surface } from '../../src/mcp/surface.ts'
import { createSdkServer } from './sdk-server.ts'

/**
 * The oracle over HTTP, in the place of our endpoint, so that requests pass the same gates before it: the SDK's handler
 * for 2026-07-28, and one of its transports with a server for every 2025 session.
 */
export class SdkEndpoint extends HttpEndpoint {
  readonly #surface: Surface
  readonly #modern: McpHttpHandler
  readonly #sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()

  constructor(surface: Surface) {
    super(surface, new SessionRegistry(() => performance.now()))
    this.#surface = surface
    this.#modern = createMcpHandler(({ requestInfo }) => createModernServer(surface, requestInfo), {
      legacy: 'reject',
    })
    const { notify } = this.#modern
    surface.announcements.subscribe((announcement) => {
      if (announcement.kind === 'tools') notify.toolsChanged()
      else if (announcement.kind === 'prompts') notify.promptsChanged()
      else if (announcement.kind === 'resources') notify.resourcesChanged()
      else if (announcement.kind === 'updated') notify.resourceUpdated(announcement.uri)
    })
    surface.onClose(() => void this.#modern.close())
  }

  override async handle(request: HttpRequest, reply: HttpReply): Promise<void> {
    const { body } = request
    const options = body === undefined ? {} : { parsedBody: body }
    const webRequest = toWebRequest(request)
    const isLegacy = await isLegacyRequest(webRequest, body)
    const response = isLegacy
      ? await (await this.#transport(request)).handleRequest(webRequest, options)
      : await this.#modern.fetch(webRequest, options)
    await sendResponse(response, reply)
  }

  override close(): void {
    super.close()
    for (const transport of this.#sessions.values()) void transport.close()
  }

  /** The transport of the session, or a new one, which refuses what is not a handshake. */
  async #transport({
    headers,
    body,
  }: HttpRequest): Promise<WebStandardStreamableHTTPServerTransport> {
    const session = this.#sessions.get(headers['mcp-session-id'] ?? '')
    if (session) return session
    const server = createSdkServer(this.#surface, 'legacy')
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new Events(),
      retryInterval: 500,
      onsessioninitialized: (id) => void this.#sessions.set(id, transport),
      onsessionclosed: (id) => void this.#sessions.delete(id),
    })
    await server.connect(transport)
    // Not a handshake: the transport answers as one that has another session.
    if (!isInitializeRequest(body) && !(Array.isArray(body) && body.some(isInitializeRequest)))
      await transport.handleRequest(aHandshake(), { parsedBody: handshake })
    return transport
  }
}

/** Without a handler for a method that does not exist, the SDK answers it itself. */
function createModernServer(surface: Surface, request: Request | undefined): Server {
  const server = createSdkServer(surface, 'modern')
  if (!methods.has(request?.headers.get('mcp-method') ?? '')) delete server.fallbackRequestHandler
  return server
}

const handshake = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'nobody', version: '0' },
  },
}

const aHandshake = (): Request =>
  new Request('http://localhost/', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
  })

function toWebRequest({ method, headers, cancellation }: HttpRequest): Request {
  const fields = Object.entries(headers).filter(
    (field): field is [string, string] => field[1] !== undefined && field[0] !== 'content-length',
  )
  return new Request('http://localhost/mcp', {
    method,
    headers: fields,
    signal: cancellation.signal,
  })
}

/** Writes the response of the SDK as ours are written. */
async function sendResponse(response: Response, reply: HttpReply): Promise<void> {
  const headers = Object.fromEntries(
    ['mcp-session-id', 'www-authenticate', 'allow'].flatMap((name) => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return reply.answer(response.status, await response.text(), headers)
  const stream = reply.stream(headers)
  const reader = response.body?.getReader()
  stream.onClose(() => void reader?.cancel().catch(() => {}))
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
    if (done) return stream.end()
    text += decoder.decode(value, { stream: true })
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) sendFrame(frame, stream)
  }
}

function sendFrame(frame: string, stream: ReturnType<HttpReply['stream']>): void {
  const field = (name: string) =>
    frame
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2)
  const [data, id] = [field('data'), field('id')]
  if (data) stream.send(data, id)
  else if (id !== undefined) stream.prime(id, Number(field('retry')))
  else stream.keepAlive()
}

/** All events of a session. */
class Events implements EventStore {
  readonly #events: { readonly stream: string; readonly message: JSONRPCMessage }[] = []

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    return String(this.#events.push({ stream, message }) - 1)
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events[Number(id)]?.stream
  }

  async replayEventsAfter(
    lastId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const { stream = '' } = this.#events[Number(lastId)] ?? {}
    for (const [id, event] of this.#events.entries())
      if (event.stream === stream && id > Number(lastId) && 'jsonrpc' in event.message)
        await send(String(id), event.message)
    return stream
  }
}
