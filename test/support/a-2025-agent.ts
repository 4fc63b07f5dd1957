import { randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { onTestFinished } from 'vitest'

export interface AgentOf2025 {
  readonly url: string
  /** Every request, as `METHOD rpc/method`, with its headers. */
  readonly received: { readonly what: string; readonly headers: IncomingHttpHeaders }[]
  /** Simulates a restart. */
  forgetSessions(): void
}

/** An MCP server of the 2025 era, built with the official SDK of that version. */
export async function anAgentOf2025(register: (server: McpServer) => void): Promise<AgentOf2025> {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const received: AgentOf2025['received'] = []

  async function openSession() {
    const server = new McpServer({ name: 'old', version: '1.0.0' })
    register(server)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        sessions.set(id, transport)
      },
    })
    await server.connect(transport as never)
    return transport
  }

  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const message = text === '' ? undefined : JSON.parse(text)
    const what = [request.method, message?.method].filter(Boolean).join(' ')
    received.push({ what, headers: request.headers })
    const id = request.headers['mcp-session-id']
    const session = typeof id === 'string' ? sessions.get(id) : undefined
    if (id !== undefined && !session) return response.writeHead(404).end()
    const transport = session ?? (await openSession())
    await transport.handleRequest(request, response, message)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  const address = http.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    received,
    forgetSessions: () => sessions.clear(),
  }
}
