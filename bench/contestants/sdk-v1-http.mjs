import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { v1Server } from './sdk-v1-server.mjs'

const [tools, port] = process.argv.slice(2).map(Number)
const factory = v1Server(tools)
const sessions = new Map()

const openSession = async () => {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
  })
  transport.onclose = () => sessions.delete(transport.sessionId)
  await factory().connect(transport)
  return transport
}

// Sessions as in the SDK's example, without its Express: the SDK should be measured at its best.
createServer(async (request, response) => {
  const transport = sessions.get(request.headers['mcp-session-id']) ?? (await openSession())
  await transport.handleRequest(request, response)
}).listen(port, '127.0.0.1')
