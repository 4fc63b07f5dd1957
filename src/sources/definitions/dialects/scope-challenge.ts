import { isObject, isText } from './shape.ts'

/**
 * The scopes that the `scopeChallenge` functions of MCP SDK 2 ask for, together with declared permissions.
 * Undefined if they are not known: what has such a function must not be served then.
 */
export function toPermissions(
  challenges: readonly unknown[],
  permissions: unknown = [],
): readonly string[] | undefined {
  if (!Array.isArray(permissions) || !permissions.every(isText)) return undefined
  const scopes = challenges.map(readScopes)
  // Declared permissions take the place of a function that cannot be looked into.
  if (scopes.includes(undefined) && permissions.length === 0) return undefined
  return [...new Set([...permissions, ...scopes.flatMap((known) => known ?? [])])]
}

export const scopesUnknown =
  "its scopeChallenge is a function of its own, and the scopes that it asks for are not known. Make it with requireScopes('…'), or declare permissions: ['…'] (of a server: Object.assign(server.registerTool(…), { permissions: ['…'] }))"

/**
 * The function that `requireScopes` returns: other ones may decide by the request, or have effects, and are
 * not called. Compared without white space, semicolons, and what compilers write for `undefined`.
 */
const madeByRequireScopes = toComparable(`({ authInfo }) => {
  if (authInfo === undefined) return
  const activeScopes = new Set(authInfo.scopes)
  if (requiredScopes.every((scope) => activeScopes.has(scope))) return
  return { scopes: requiredScopes }
}`)

function readScopes(challenge: unknown): readonly string[] | undefined {
  if (typeof challenge !== 'function') return undefined
  const text = Function.prototype.toString.call(challenge)
  if (toComparable(text) !== madeByRequireScopes) return undefined
  const request = { jsonrpc: '2.0', id: 0, method: 'ping' }
  const answer: unknown = challenge({ request, authInfo: { token: '', clientId: '', scopes: [] } })
  const scopes = isObject(answer) ? answer.scopes : undefined
  const isKnown = Array.isArray(scopes) && scopes.length > 0 && scopes.every(isText)
  return isKnown ? scopes : undefined
}

function toComparable(text: string): string {
  return text.replaceAll(/\bvoid 0\b/g, 'undefined').replaceAll(/[\s;]/g, '')
}
