import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { type Fault, isFault } from '../../../capability/fault.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import { parseJson } from '../../../json/parse-json.ts'
import type { Egress } from '../../../upstream/egress/egress.ts'
import { isLoopbackUrl } from '../../../upstream/loopback.ts'
import { sealRequest } from '../crypto/envelope-seal.ts'
import type { SealOptions } from '../crypto/seal.ts'
import {
  type AgentFailure,
  type AgentResult,
  readError,
  readResponse,
  toAgentFailure,
  toReportedFailure,
} from '../envelope/agent-result.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import type { Certainty, ErrorCode } from '../envelope/error-codes.ts'
import { toErrorInfo } from '../envelope/response.ts'
import { mayRepeat } from '../to-effects.ts'
import { readFrame, toFrame } from '../transport/frame.ts'
import {
  type Transport,
  type TransportFault,
  type TransportReply,
  transportFaults,
} from '../transport/transport.ts'
import type { Agent, AgentContext, Offer } from './agent.ts'
import { type RemoteAgentConfig, remoteShape } from './agent-shapes.ts'
import {
  type AgentReading,
  type DeclarationPlace,
  readOffers,
  toDiagnostics,
} from './read-agent.ts'

export interface RemoteAgentOptions {
  readonly transportTo: (remote: RemoteAgentConfig) => Transport
  readonly sealing: SealOptions
  readonly egress: Egress
  /** Node name of this runtime. */
  readonly node: string
  readonly now: () => number
}

export function readRemoteAgent(
  candidate: unknown,
  place: DeclarationPlace,
  options: RemoteAgentOptions,
): AgentReading {
  const parsed = remoteShape.safeParse(candidate)
  if (!parsed.success) return { diagnostics: toDiagnostics(parsed.error, place) }
  const remote = parsed.data
  const fault = findFault(remote, options)
  if (fault !== undefined) return { diagnostics: [toDiagnostic(fault, place)] }
  const { offers, diagnostics: offerDiagnostics } = readOffers(remote.capabilities, place, true)
  const diagnostics = [...offerDiagnostics]
  if (offers.length === 0) return { diagnostics }
  const { name, version, priority, concurrency, timeout, url } = remote
  const { verdict, why } = options.egress.preview(url)
  if (verdict === 'refused')
    diagnostics.push({
      ...toDiagnostic(`The agent ${name} cannot be reached: ${why}.`, place),
      code: 'egress_refused',
    })
  const transport = options.transportTo(remote)
  const invoke = (envelope: IntentEnvelope, context: AgentContext) =>
    askRemotely(
      { ...options, remote, transport, mustNotRepeat: forbidsRepeat(offers, envelope) },
      envelope,
      context,
    )
  const agent: Agent = Object.freeze(
    dropUndefined({
      name,
      version,
      priority,
      concurrency,
      timeout,
      remote: true,
      offers,
      url,
      invoke,
    }),
  )
  return { agent, diagnostics }
}

function findFault(remote: RemoteAgentConfig, { sealing }: RemoteAgentOptions): string | undefined {
  const { name, url, seal, access } = remote
  const { protocol, hostname } = new URL(url)
  if (access && !isOverNats(remote))
    return `The agent ${name} is ignored: "access" is for NATS. Over HTTP, use "token".`
  if (protocol === 'http:' && !isLoopbackUrl(url))
    return `The agent ${name} is ignored: ${hostname} is another machine, so the URL must use https.`
  if (seal && !sealing.ring.has(seal.key))
    return `The agent ${name} is ignored: there is no key ${JSON.stringify(seal.key)} in "keys".`
  return undefined
}

export const isOverNats = ({ url }: Pick<RemoteAgentConfig, 'url'>): boolean =>
  /^(nats|tls):/.test(url)

const toDiagnostic = (message: string, { source, pointer }: DeclarationPlace): Diagnostic => ({
  code: 'agent_invalid',
  severity: 'error',
  message,
  source,
  pointer,
})

const forbidsRepeat = (offers: readonly Offer[], { intent }: IntentEnvelope): boolean =>
  offers.some(
    (offer) => (offer.intent === intent.name || offer.intent === '*') && !mayRepeat(offer.effects),
  )

interface RemoteRequest extends Pick<RemoteAgentOptions, 'sealing' | 'node' | 'now'> {
  readonly remote: RemoteAgentConfig
  readonly transport: Transport
  readonly mustNotRepeat: boolean
}

async function askRemotely(
  { remote, transport, mustNotRepeat, sealing, node, now }: RemoteRequest,
  envelope: IntentEnvelope,
  context: AgentContext,
): Promise<AgentResult> {
  const { name, token } = remote
  const forwardedEnvelope = {
    ...envelope,
    metadata: {
      ...envelope.metadata,
      identityChain: [...envelope.metadata.identityChain, `proxy:${node}:${name}`],
    },
    // This router has chosen the agent; how the remote runtime routes is its own decision.
    routing: { ...envelope.routing, strategy: 'direct', targetAgent: null, fallbackAgents: [] },
  } satisfies IntentEnvelope
  const { traceparent, signal } = context
  const headers = {
    traceparent,
    timeout: Math.max(1, Math.round(context.deadline - now())),
    idempotencyKey: envelope.metadata.requestId,
  }
  const recipient = remote.node ?? name
  const seal =
    remote.seal && sealRequest(sealing, remote.seal, forwardedEnvelope, { sender: node, recipient })
  const frame = seal
    ? toFrame('emcl', seal.seal(forwardedEnvelope), headers)
    : toFrame('intent', forwardedEnvelope, headers)
  const body = JSON.stringify(frame)
  const reply = await transport({ body, traceparent, token, mustNotRepeat, signal })
  return isFault(reply) ? toUndelivered(name, reply) : readReply(name, reply, seal?.open)
}

/** The agent may have acted only if it can have received the frame. */
function toUndelivered(name: string, { fault, cause }: TransportFault): AgentFailure {
  const certainty = transportFaults[fault]
  switch (fault) {
    case 'egress_refused':
      return toAgentFailure(
        toErrorInfo('AGENT_UNAVAILABLE', `The policy does not allow a connection to ${name}.`, {
          details: { reason: 'egress_refused' },
        }),
        { certainty, cause },
      )
    case 'not_sent':
      return toFailure('AGENT_UNAVAILABLE', `${name} cannot be reached.`, certainty, cause)
    case 'too_large':
      return toFailure(
        'PAYLOAD_TOO_LARGE',
        `The request is too large for ${name}.`,
        certainty,
        cause,
      )
    case 'forbidden':
      return toFailure(
        'UNAUTHORIZED',
        `This server is not allowed to ask ${name}.`,
        certainty,
        cause,
      )
    case 'no_reply':
      return toFailure('TRANSPORT_ERROR', `The connection to ${name} was lost.`, certainty, cause)
    case 'reply_too_large':
      return toFailure('PROTOCOL_ERROR', `The answer of ${name} is too large.`, certainty, cause)
  }
}

function readReply(
  name: string,
  { status, body }: TransportReply,
  open?: (body: unknown) => { readonly plain: unknown } | Fault,
): AgentResult {
  const invalidResponse = `The answer of ${name} is not a valid response.`
  const frame = readFrame(parseJson(body))
  if (isFault(frame))
    return status === undefined
      ? toFailure('PROTOCOL_ERROR', invalidResponse, 'unknown', frame.fault)
      : fromStatus(name, status, frame.fault)
  const { instance } = frame.headers
  // An unsealed error where a seal is required may be forged: trust nothing it implies.
  if (frame.messageType === 'error')
    return toReportedFailure(name, readError(frame.body), {
      certainty: open && 'unknown',
      instance,
    })
  let response = frame.body
  if (open) {
    const content =
      frame.messageType === 'emcl' ? open(frame.body) : { fault: 'the answer is not sealed' }
    if (isFault(content)) {
      const message = `The answer of ${name} failed authentication.`
      return toFailure('EMCL_FAILURE', message, 'unknown', content.fault)
    }
    response = content.plain
  }
  const result =
    tryReadResponse(name, response) ?? toFailure('PROTOCOL_ERROR', invalidResponse, 'unknown')
  return instance === undefined ? result : { ...result, instance }
}

function tryReadResponse(name: string, value: unknown): AgentResult | undefined {
  try {
    return readResponse(name, value)
  } catch {
    return undefined
  }
}

/** HTTP statuses of replies that are not frames. */
const statusCodes: Readonly<Record<number, ErrorCode>> = {
  401: 'UNAUTHORIZED',
  403: 'UNAUTHORIZED',
  413: 'PAYLOAD_TOO_LARGE',
  429: 'RATE_LIMIT',
}

function fromStatus(name: string, status: number, cause: string): AgentFailure {
  const isRedirect = status >= 300 && status < 400
  const message = `${name} answered with HTTP ${status}${isRedirect ? ', a redirect, which is not followed' : ''}.`
  const code = statusCodes[status]
  if (code) return toFailure(code, message, 'nothing', cause)
  // A 4xx request was rejected before it was carried out; a 5xx request may have been carried out.
  return status >= 400 && status < 500
    ? toFailure('PROTOCOL_ERROR', message, 'nothing', cause)
    : toFailure('TRANSPORT_ERROR', message, 'unknown', cause)
}

const toFailure = (
  code: ErrorCode,
  message: string,
  certainty: Certainty,
  cause?: string,
): AgentFailure =>
  toAgentFailure(toErrorInfo(code, message, { retryable: code === 'RATE_LIMIT' }), {
    certainty,
    cause,
  })
