import { serverInfo, toResult, toTools } from './tools.mjs'

/**
 * The least an answer can cost: parse, look up, stringify. It checks nothing and remembers
 * nothing; what a server costs on top of it is what its promises cost.
 *
 * @returns {(body: string) => string | undefined} undefined for a notification
 */
export const floor = (count) => {
  const tools = new Map(toTools(count).map((tool) => [tool.name, tool]))
  const end = {
    resultType: 'complete',
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
  }
  const methods = {
    initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }),
    'tools/list': () => ({ tools: [...tools.values()], ttlMs: 0, cacheScope: 'private', ...end }),
    'tools/call': (params) => {
      if (!tools.has(params.name)) throw new Error(`no tool ${params.name}`)
      return { ...toResult(params.arguments.text), ...end }
    },
  }

  return (body) => {
    const { id, method, params } = JSON.parse(body)
    if (id === undefined) return undefined
    return JSON.stringify({ result: methods[method](params), jsonrpc: '2.0', id })
  }
}
