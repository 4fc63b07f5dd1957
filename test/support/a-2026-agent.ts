import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { onTestFinished } from 'vitest'

/** An MCP server of the 2026 era, built with the official SDK. */
export async function anAgentOf2026(
  register: (server: McpServer) => void,
): Promise<{ readonly url: string; readonly received: { readonly what: string }[] }> {
  const received: { what: string }[] = []
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'new', version: '1.0.0' })
    register(server)
    return server
  })
  const handle = toNodeHandler(handler)
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const message = text === '' ? undefined : JSON.parse(text)
    received.push({ what: [request.method, message?.method].filter(Boolean).join(' ') })
    await handle(request as never, response as never, message)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    http.closeAllConnections()
    http.close()
    await handler.close()
  })
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, received }
}
