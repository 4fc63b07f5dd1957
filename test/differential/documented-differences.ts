import { isDeepStrictEqual } from 'node:util'
import type { Exchange } from './comparison.ts'
import type { Reply, ReplyMessage } from './reply.ts'

/** A deliberate difference between our answers and the SDK's. */
export interface DocumentedDifference {
  readonly name: string
  readonly reason: string
  /** True if the difference between two replies is this one. */
  readonly explains: (exchange: Exchange) => boolean
}

export const documentedDifferences: readonly DocumentedDifference[] = [
  {
    name: 'an unknown method is named',
    reason: 'A developer who reads the error in a log sees which method it was.',
    explains: onlyMessage(
      (ours, sdk) =>
        sdk === 'Method not found' && ours.startsWith('Method not found: ') && ours.length <= 119,
    ),
  },
  {
    name: 'a refusal quotes at most 100 characters of the client',
    reason: 'A client must not make the server send, or log, texts of any length.',
    explains: onlyMessage((ours, sdk) => ours === `${sdk.slice(0, 100)}…`),
  },
  {
    name: 'missing headers are described in our words',
    reason: 'Our checks of the required headers run after the SDK has judged the era.',
    explains: ({ ours, sdk }) =>
      isError(ours, -32020, /^The headers and the body disagree: /) &&
      isError(sdk, -32020, /^Bad Request: the request headers and body disagree: /) &&
      ours.status === sdk.status,
  },
  {
    name: 'an argument that disagrees with its header is 400',
    reason:
      "As the protocol says. The SDK's McpServer answers the same; an error that a handler throws is always 200.",
    explains: ({ ours, sdk }) =>
      ours.status === 400 &&
      sdk.status === 200 &&
      isError(ours, -32020, /arguments /) &&
      isDeepStrictEqual(ours.messages, sdk.messages),
  },
  {
    name: 'a byte order mark in the Mcp-Name header counts',
    reason: 'The SDK drops it when it decodes base64, so that such a name can never be called.',
    explains: ({ sent, ours, sdk }) =>
      sent.includes('\ufeff') &&
      isError(sdk, -32020, /the Mcp-Name header names/) &&
      !isError(ours, -32020),
  },
  {
    name: 'a malformed subscription filter is described in our words',
    reason: 'The filter is read by our own code, which also limits its size.',
    explains: onlyMessage(
      (ours, sdk) =>
        ours === 'notifications must be a subscription filter' &&
        sdk ===
          "Invalid params: 'notifications' is required and must be a valid SubscriptionFilter",
    ),
  },
  {
    name: 'malformed parameters of initialize are invalid params',
    reason: 'The SDK reports its own validation error as an internal one.',
    explains: ({ sent, ours, sdk }) =>
      sent.includes('initialize') &&
      isError(ours, -32602, /^The parameters of initialize are not valid$/) &&
      (isError(sdk, -32603) || isError(sdk, -32000, /Mcp-Session-Id header is required/)),
  },
  {
    name: 'a second initialize is refused, however it looks',
    reason:
      'The SDK refuses it only if its parameters are valid, and then without a look at its headers.',
    explains: ({ sent, ours, sdk }) =>
      sent.includes('initialize') &&
      ((isError(ours, -32600, /^Invalid Request: Server already initialized$/) &&
        sdk.messages.some(({ error }) => error?.code === -32603)) ||
        (isError(ours, -32000, /^Bad Request: Unsupported protocol version/) &&
          isError(sdk, -32600, /^Invalid Request: Server already initialized$/))),
  },
  {
    name: 'a notification called initialize opens nothing and is not refused',
    reason: 'It is no request. The SDK takes it for a handshake, which then has no answer.',
    explains: ({ sent, ours, sdk }) =>
      sent.includes('initialize') &&
      (ours.status === 202 || isError(ours, -32000, /Mcp-Session-Id header is required/)) &&
      (sdk.status === 202 || isError(sdk, -32600, /^Invalid Request: Server already initialized$/)),
  },
  {
    name: 'an answer with a field method is an answer',
    reason: 'The SDK drops it; here the capability that asked validates its answers.',
    explains: ({ era, sent, ours, sdk }) =>
      era === 'modern' &&
      sent.includes('inputResponses') &&
      ours.messages[0]?.result?.resultType === 'complete' &&
      sdk.messages[0]?.result?.resultType === 'input_required',
  },
  {
    name: 'the URIs of a subscription are limited',
    reason: 'They are kept as long as it is open.',
    explains: ({ sent, ours, sdk }) =>
      sent.length > 64 * 1024 &&
      isError(ours, -32602, /^notifications must be a subscription filter$/) &&
      sdk.messages[0]?.method === 'notifications/subscriptions/acknowledged',
  },
  {
    name: 'initialize in a session that does not exist is 404',
    reason:
      'As every other request in it. A client that gets 404 has to begin again without the id of a session.',
    explains: ({ sent, ours, sdk }) =>
      sent.includes('initialize') && ours.status === 404 && sdk.opensSession === true,
  },
  {
    name: 'an empty subscription stays open',
    reason: 'As over stdio. The client ends it; the SDK ends it at once over HTTP.',
    explains: ({ transport, ours, sdk }) =>
      transport === 'HTTP' &&
      isDeepStrictEqual(ours.messages[0], sdk.messages[0]) &&
      isDeepStrictEqual(ours.messages[0]?.params?.notifications, {}) &&
      ours.messages.length === 1 &&
      sdk.messages[1]?.result?.resultType === 'complete',
  },
  {
    name: 'over stdio, a notification does not decide the era',
    reason: 'It has no answer, so nothing of the era has been seen by the client yet.',
    explains: ({ transport, sent, ours, sdk }) =>
      transport === 'stdio' &&
      sent.includes('2026-07-28') &&
      ours.messages[0]?.result?.resultType === 'complete' &&
      sdk.messages[0]?.result?.resultType === undefined,
  },
  {
    name: 'an id that is in use is refused',
    reason:
      'Two running requests with one id could get the results of each other, and a cancellation could stop the wrong one.',
    explains: ({ ours }) => isError(ours, -32600, /belongs to a request that is still running/),
  },
  {
    name: 'over stdio, an invalid envelope is refused first and in the words of HTTP',
    reason:
      'The SDK judges the envelope only of the first request as over HTTP; later it looks for the method first, and has other words.',
    explains: ({ transport, era, ours, sdk }) =>
      transport === 'stdio' &&
      era === 'modern' &&
      isError(ours, -32602, /^_meta must contain |^Invalid _meta envelope for /) &&
      (isError(sdk, -32602, /_meta envelope/) || isError(sdk, -32601)),
  },
  {
    name: 'over stdio, an unsupported revision is refused on every request',
    reason: 'The SDK looks at the revision of the first request only.',
    explains: ({ transport, era, ours, sdk }) =>
      transport === 'stdio' &&
      era === 'modern' &&
      isError(ours, -32022, /^Unsupported protocol version: /) &&
      sdk.messages.length > 0,
  },
]

/** The replies are equal but for the message of their only error. */
function onlyMessage(isExpected: (ours: string, sdk: string) => boolean) {
  return ({ ours, sdk }: Exchange): boolean => {
    const [ourError, sdkError] = [errorOf(ours), errorOf(sdk)]
    if (!ourError || !sdkError || !isExpected(ourError.message, sdkError.message)) return false
    return isDeepStrictEqual(withoutMessage(ours), withoutMessage(sdk))
  }
}

function errorOf({ messages }: Reply): ReplyMessage['error'] {
  const [message, ...others] = messages
  return others.length === 0 ? message?.error : undefined
}

function isError(reply: Reply, code: number, message = /./s): boolean {
  const error = errorOf(reply)
  return error?.code === code && message.test(error.message)
}

const withoutMessage = (reply: Reply): Reply => ({
  ...reply,
  messages: reply.messages.map(({ error, ...rest }) =>
    error ? { ...rest, error: { ...error, message: '' } } : rest,
  ),
})
