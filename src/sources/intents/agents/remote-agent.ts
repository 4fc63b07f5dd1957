import { z } from 'zod'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { sealFormats, sealRequest } from '../crypto/envelope-seal.ts'
import type { SealOptions } from '../crypto/seal.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import type { Certainty, ErrorCode } from '../envelope/error-codes.ts'
import { type AgentResult, readError, readResponse, toErrorInfo } from '../envelope/response.ts'
import { mayRepeat } from '../to-effects.ts'
import { readFrame, toFrame } from '../transport/frame.ts'
import { isThisMachine, natsFields } from '../transport/nats/address.ts'
import {
  type Transport,
  type TransportFailure,
  type TransportResult,
  transportFailures,
} from '../transport/transport.ts'
import type { Agent, AgentAnswer, AgentContext, Offer } from './agent.ts'
import {
  type AgentReading,
  agentFields,
  type Place,
  readOffers,
  toDiagnostics,
} from './read-agent.ts'

/** An agent that runs elsewhere, as configuration describes it. */
export const remoteShape = z.strictObject({
  ...agentFields,
  url: z.union([z.url({ protocol: /^https?$/ }), natsFields.url], {
    error: 'must be an address such as https://… or nats://…',
  }),
  /** To the NATS server; what the agent itself wants to see is the token. */
  access: natsFields.access,
  /** Sent as a bearer token. */
  token: z.string().min(1).optional(),
  seal: z.strictObject({ format: z.enum(sealFormats).default('v2'), key: z.string() }).optional(),
  /** What the other side calls itself; the agent's name where absent. */
  node: z.string().optional(),
})

export type Remote = z.output<typeof remoteShape>

export interface RemoteOptions {
  readonly carry: (remote: Remote) => Transport
  readonly sealing: SealOptions
  /** What this side calls itself. */
  readonly node: string
  readonly now: () => number
}

export function readRemoteAgent(
  candidate: unknown,
  place: Place,
  options: RemoteOptions,
): AgentReading {
  const parsed = remoteShape.safeParse(candidate)
  if (!parsed.success) return { diagnostics: toDiagnostics(parsed.error, place) }
  const remote = parsed.data
  const fault = findFault(remote, options)
  if (fault !== undefined) return { diagnostics: [toFault(fault, place)] }
  const { offers, diagnostics } = readOffers(remote.capabilities, place, true)
  if (offers.length === 0) return { diagnostics }
  const { name, version, priority, concurrency, timeout } = remote
  const carry = options.carry(remote)
  const agent: Agent = Object.freeze({
    name,
    version,
    priority,
    concurrency,
    ...(timeout !== undefined && { timeout }),
    remote: true,
    offers,
    invoke: (envelope: IntentEnvelope, context: AgentContext) =>
      ask({ ...options, remote, carry, delicate: isDelicate(offers, envelope) }, envelope, context),
  })
  return { agent, diagnostics }
}

function findFault(remote: Remote, { sealing }: RemoteOptions): string | undefined {
  const { name, url, seal, access } = remote
  const { protocol, hostname } = new URL(url)
  if (access && !isOverNats(remote))
    return `${name} is left out: access is for NATS; over HTTP it is the token.`
  if (protocol === 'http:' && !isThisMachine(url))
    return `${name} is left out: ${hostname} is another machine, so its address must be https.`
  if (seal && !sealing.ring.has(seal.key))
    return `${name} is left out: there is no key ${seal.key}.`
  return undefined
}

export const isOverNats = ({ url }: Pick<Remote, 'url'>): boolean => /^(nats|tls):/.test(url)

const toFault = (message: string, { source, pointer }: Place): Diagnostic => ({
  code: 'agent_invalid',
  severity: 'error',
  message,
  source,
  pointer,
})

/** Whether a connection that breaks would leave something unknown behind. */
const isDelicate = (offers: readonly Offer[], { intent }: IntentEnvelope): boolean =>
  offers.some(
    (offer) => (offer.intent === intent.name || offer.intent === '*') && !mayRepeat(offer.effects),
  )

interface Asking extends Pick<RemoteOptions, 'sealing' | 'node' | 'now'> {
  readonly remote: Remote
  readonly carry: Transport
  readonly delicate: boolean
}

async function ask(
  { remote, carry, delicate, sealing, node, now }: Asking,
  envelope: IntentEnvelope,
  context: AgentContext,
): Promise<AgentAnswer> {
  const { name, token } = remote
  const forwarded = {
    ...envelope,
    metadata: {
      ...envelope.metadata,
      identityChain: [...envelope.metadata.identityChain, `proxy:${node}:${name}`],
    },
    // Whom to ask is decided here; how it does that is its own business.
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
    remote.seal && sealRequest(sealing, remote.seal, forwarded, { sender: node, recipient })
  const frame = seal
    ? toFrame('emcl', seal.seal(forwarded), headers)
    : toFrame('intent', forwarded, headers)
  const body = JSON.stringify(frame)
  const carried = await carry({ body, traceparent, token, delicate, signal })
  return 'failed' in carried ? toUnsent(name, carried) : toAnswer(name, carried, seal?.open)
}

/** Whether it may have acted depends on whether it can have read anything. */
function toUnsent(name: string, { failed, cause }: TransportFailure): AgentAnswer {
  const certainty = transportFailures[failed]
  switch (failed) {
    case 'not_sent':
      return fault('AGENT_UNAVAILABLE', `${name} cannot be reached.`, certainty, cause)
    case 'too_large':
      return fault('PAYLOAD_TOO_LARGE', `That is too much for ${name}.`, certainty, cause)
    case 'forbidden':
      return fault('UNAUTHORIZED', `${name} may not be asked from here.`, certainty, cause)
    case 'sent':
      return fault('TRANSPORT_ERROR', `The connection to ${name} broke.`, certainty, cause)
    case 'endless':
      return fault('PROTOCOL_ERROR', `The answer of ${name} is too large.`, certainty, cause)
  }
}

function toAnswer(
  name: string,
  { status, body }: Exclude<TransportResult, TransportFailure>,
  open?: (body: unknown) => { readonly plain: unknown } | { readonly fault: string },
): AgentAnswer {
  const frame = readFrame(parse(body))
  if ('fault' in frame)
    return status === undefined
      ? fault('PROTOCOL_ERROR', `${name} gave no answer that can be read.`, 'unknown', frame.fault)
      : toStatus(name, status, frame.fault)
  const { instance } = frame.headers
  const from = instance === undefined ? {} : { instance }
  // Where answers are sealed, one that is not may come from anybody.
  if (frame.messageType === 'error')
    return { error: readError(frame.body), ...(open && { certainty: 'unknown' }), ...from }
  let inner = frame.body
  if (open) {
    const opened =
      frame.messageType === 'emcl' ? open(frame.body) : { fault: 'its answer is not sealed' }
    if ('fault' in opened)
      return fault(
        'EMCL_FAILURE',
        `The answer of ${name} cannot be trusted.`,
        'unknown',
        opened.fault,
      )
    inner = opened.plain
  }
  const said =
    tryRead(inner) ?? fault('PROTOCOL_ERROR', `${name} gave no answer that can be read.`, 'unknown')
  return { ...said, ...from }
}

function tryRead(value: unknown): AgentResult | undefined {
  try {
    return readResponse(value)
  } catch {
    return undefined
  }
}

/** No frame: what the status says is all there is. */
const statuses: Readonly<Record<number, ErrorCode>> = {
  401: 'UNAUTHORIZED',
  403: 'UNAUTHORIZED',
  413: 'PAYLOAD_TOO_LARGE',
  429: 'RATE_LIMIT',
}

function toStatus(name: string, status: number, why: string): AgentAnswer {
  const message = `${name} answered with HTTP ${status}.`
  const code = statuses[status]
  if (code) return fault(code, message, 'nothing', why)
  // A request that is refused was not carried out; one that broke may have been.
  return status >= 400 && status < 500
    ? fault('PROTOCOL_ERROR', message, 'nothing', why)
    : fault('TRANSPORT_ERROR', message, 'unknown', why)
}

const fault = (
  code: ErrorCode,
  message: string,
  certainty: Certainty,
  cause?: string,
): AgentAnswer => ({
  error: toErrorInfo(code, message, { retryable: code === 'RATE_LIMIT' }),
  certainty,
  ...(cause !== undefined && { cause }),
})

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
