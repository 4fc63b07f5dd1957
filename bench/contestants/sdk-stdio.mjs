import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { mcpServer } from './sdk-servers.mjs'

serveStdio(mcpServer(Number(process.argv[2])))
