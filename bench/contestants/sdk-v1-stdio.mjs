import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { v1Server } from './sdk-v1-server.mjs'

await v1Server(Number(process.argv[2]))().connect(new StdioServerTransport())
