import { McpServer, Server } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { serverInfo, toResult, toTools } from './tools.mjs'

/**
 * The factory from the SDK's documentation, which creates the schemas where the tool is registered,
 * for every request.
 */
export const mcpServer = (count) => {
  const tools = toTools(count)
  return () => {
    const server = new McpServer(serverInfo)
    for (const { name, description } of tools) {
      const inputSchema = z.object({
        text: z.string(),
        times: z.number().int().min(1).max(10).default(1),
      })
      server.registerTool(name, { description, inputSchema }, async ({ text }) => toResult(text))
    }
    return server
  }
}

/** The SDK's low-level server: no validation, and the list is created once. */
export const lowLevelServer = (count) => {
  const tools = toTools(count)
  const names = new Set(tools.map((tool) => tool.name))
  return () => {
    const server = new Server(serverInfo, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/list', async () => ({ tools }))
    server.setRequestHandler('tools/call', async ({ params }) => {
      if (!names.has(params.name)) throw new Error(`Unknown tool ${params.name}`)
      return toResult(params.arguments.text)
    })
    return server
  }
}
