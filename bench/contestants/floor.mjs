import { serverInfo, toResult, toTools } from './tools.mjs'

/**
 * The minimum cost of an answer: parse, look up, stringify, without validation or state. The
 * difference between this and a server is the cost of the server's features.
 *
 * @returns {(body: string) => string | undefined} undefined for a notification
 */
export const floor = (count) => {
  const tools = new Map(toTools(count).map((tool) => [tool.name, tool]))
  const commonFields = {
    resultType: 'complete',
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
  }
  const methods = {
    initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }),
    'tools/list': () => ({
      tools: [...tools.values()],
      ttlMs: 0,
      cacheScope: 'private',
      ...commonFields,
    }),
    'tools/call': (params) => {
      if (!tools.has(params.name)) throw new Error(`Unknown tool ${params.name}`)
      return { ...toResult(params.arguments.text), ...commonFields }
    },
  }

  return (body) => {
    const { id, method, params } = JSON.parse(body)
    if (id === undefined) return undefined
    return JSON.stringify({ result: methods[method](params), jsonrpc: '2.0', id })
  }
}
