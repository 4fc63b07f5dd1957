import { z } from 'zod'
import type { Fault } from '../../../capability/fault.ts'
import type { JsonObject } from '../../../capability/json.ts'
import { frozenCopy, NotJsonError } from './frozen-copy.ts'
import { wireVersion } from './wire-version.ts'

export const strategies = ['direct', 'fallback', 'broadcast', 'parallel'] as const
/** How agents are chosen, on the wire: `race` is `parallel` there. */
export type Strategy = (typeof strategies)[number]

/** One request for an intent, with the field names of the wire format. Deeply frozen. */
export interface IntentEnvelope {
  /** Version of the wire format: `1.0`. */
  readonly version: string
  /** Name and version of the requested intent. */
  readonly intent: IntentRef
  /** The arguments of the call, with the defaults of the agent's input schema. */
  readonly payload: JsonObject
  /** Origin of the request. */
  readonly context: {
    /** `client`, unless another runtime forwarded the request. */
    readonly sourceAgent: string
    /** Time of the request, ISO 8601. */
    readonly timestamp: string
    /** Forwarded unchanged; routing ignores it. */
    readonly priority: 'low' | 'normal' | 'high'
    /** Keywords of the sender; forwarded unchanged. */
    readonly tags: readonly string[]
  }
  /** Identifies the request and its senders. */
  readonly metadata: {
    /** Id of the call; the idempotency key at a remote agent. */
    readonly requestId: string
    /** Name of the runtime that created the envelope. */
    readonly source: string
    /** Time of creation, ISO 8601. */
    readonly createdAt: string
    /** W3C trace id, 32 hexadecimal digits; another runtime may use another format. */
    readonly traceId: string
    /** The original caller, then every runtime that forwarded the request. */
    readonly identityChain: readonly string[]
  }
  /** How the sender wants the request to be routed. */
  readonly routing: {
    /** How agents are chosen. */
    readonly strategy: Strategy
    /** The agent to ask first, or alone with `direct`. */
    readonly targetAgent: string | null
    /** Agents to ask after the first; empty for the default order. */
    readonly fallbackAgents: readonly string[]
  }
  /** The route so far. */
  readonly routingMetadata: {
    /** Names of the agents that were asked before this one. */
    readonly decisionPath: readonly string[]
    /** Earlier attempts at this agent. */
    readonly retries: number
  }
}

/** Names one version of an intent. */
export interface IntentRef {
  /** Name of the intent, which is also the name of the tool. */
  readonly name: string
  /** Version of the intent, such as `1.0`. */
  readonly version: string
}

const text = z.string().max(1024)
const names = z.array(text).max(64).default([])

/** Follows the fields that runtimes really send: the published schemas describe an older draft. */
const envelopeShape = z.object({
  version: text.default(wireVersion),
  intent: z.object({ name: text.min(1), version: text.min(1).default(wireVersion) }),
  payload: z.record(z.string(), z.unknown()).nullable().default({}),
  context: z.object({
    sourceAgent: text,
    timestamp: text,
    priority: z.enum(['low', 'normal', 'high']).default('normal'),
    tags: names,
  }),
  metadata: z.object({
    requestId: text.min(1),
    source: text,
    createdAt: text,
    traceId: text.nullish().transform((id) => id ?? ''),
    identityChain: names,
  }),
  routing: z
    .object({
      strategy: z.enum(strategies).default('direct'),
      targetAgent: text.nullable().default(null),
      fallbackAgents: names,
    })
    .prefault({}),
  routingMetadata: z
    .object({ decisionPath: names, retries: z.number().int().min(0).default(0) })
    .prefault({}),
})

/** Parses an envelope from another runtime. */
export function readEnvelope(value: unknown): { readonly envelope: IntentEnvelope } | Fault {
  const parsed = envelopeShape.safeParse(value)
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `/${path.join('/')} ${message}`)
    return { fault: faults.join('; ') }
  }
  try {
    const { payload, ...rest } = parsed.data
    return { envelope: frozenCopy({ ...rest, payload: payload ?? {} }) as object as IntentEnvelope }
  } catch (error) {
    if (error instanceof NotJsonError) return { fault: `/payload ${error.message}` }
    throw error
  }
}

/** The envelope for one attempt: the original with the agents that were asked before. */
export const toAttempt = (
  envelope: IntentEnvelope,
  previousAgents: readonly string[],
  retries: number,
): IntentEnvelope =>
  previousAgents.length === 0 && retries === 0
    ? envelope
    : Object.freeze({
        ...envelope,
        routingMetadata: Object.freeze({
          decisionPath: Object.freeze([
            ...envelope.routingMetadata.decisionPath,
            ...previousAgents,
          ]),
          retries,
        }),
      })
