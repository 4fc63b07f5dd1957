import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { lowLevelServer, mcpServer } from './sdk-servers.mjs'

const [kind, tools, port] = process.argv.slice(2)
const factory = { mcpserver: mcpServer, lowlevel: lowLevelServer }[kind](Number(tools))

const modern = toNodeHandler(createMcpHandler(factory))
const sessions = new Map()

const openSession = async () => {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
  })
  transport.onclose = () => sessions.delete(transport.sessionId)
  await factory({ era: 'legacy' }).connect(transport)
  return transport
}

// Routing by header is the cheapest way to serve both eras (`isLegacyRequest` clones and parses the
// body), and the SDK should be measured at its best.
createServer(async (request, response) => {
  const session = sessions.get(request.headers['mcp-session-id'])
  if (session) return session.handleRequest(request, response)
  const isInitialize = request.headers['mcp-protocol-version'] === undefined
  if (isInitialize) return (await openSession()).handleRequest(request, response)
  return modern(request, response)
}).listen(Number(port), '127.0.0.1')
