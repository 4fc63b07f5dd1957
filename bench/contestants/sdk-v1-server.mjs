import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'
import { serverInfo, toResult, toTools } from './tools.mjs'

/** A factory of servers of the SDK's first generation, each for one session. */
export const v1Server = (count) => {
  const tools = toTools(count)
  return () => {
    const server = new McpServer(serverInfo)
    for (const { name, description } of tools) {
      const inputSchema = { text: z.string(), times: z.number().int().min(1).max(10).default(1) }
      server.registerTool(name, { description, inputSchema }, async ({ text }) => toResult(text))
    }
    return server
  }
}
