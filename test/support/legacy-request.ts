import { type Message, type Posted, postMessage } from './modern-request.ts'

export const legacyRevision = '2025-11-25'

export const anInitialize = (id: string | number = 'opening'): Message => ({
  jsonrpc: '2.0',
  id,
  method: 'initialize',
  params: {
    protocolVersion: legacyRevision,
    capabilities: {},
    clientInfo: { name: 'test', version: '1.0.0' },
  },
})

export const initialized: Message = { jsonrpc: '2.0', method: 'notifications/initialized' }

export const toLegacyHeaders = (session?: string): Record<string, string> => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': legacyRevision,
  ...(session !== undefined && { 'mcp-session-id': session }),
})

/** Opens a 2025 session and returns its id. */
export async function openSession(url: string): Promise<string> {
  const response = await postMessage(url, anInitialize(), toLegacyHeaders())
  const session = response.headers.get('mcp-session-id')
  if (session === null) throw new Error(`no session: ${response.status} ${response.text}`)
  await postMessage(url, initialized, toLegacyHeaders(session))
  return session
}

export const postLegacy = (url: string, session: string, message: Message): Promise<Posted> =>
  postMessage(url, message, toLegacyHeaders(session))
