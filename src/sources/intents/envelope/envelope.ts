import { z } from 'zod'
import type { JsonObject } from '../../../capability/json.ts'
import { frozenCopy, NotJson } from './frozen-copy.ts'

export const strategies = ['direct', 'fallback', 'broadcast', 'parallel'] as const
export type Strategy = (typeof strategies)[number]

/** One request for an intent, with the names it has on the wire. Frozen all the way down. */
export interface IntentEnvelope {
  readonly version: string
  readonly intent: IntentRef
  readonly payload: JsonObject
  readonly context: {
    readonly sourceAgent: string
    /** ISO 8601. */
    readonly timestamp: string
    /** Travels; no decision depends on it. */
    readonly priority: 'low' | 'normal' | 'high'
    readonly tags: readonly string[]
  }
  readonly metadata: {
    readonly requestId: string
    readonly source: string
    readonly createdAt: string
    /** 32 hexadecimal digits where it is ours: the trace id of a `traceparent`. */
    readonly traceId: string
    /** Who asked, then who passed it on. */
    readonly identityChain: readonly string[]
  }
  readonly routing: {
    readonly strategy: Strategy
    readonly targetAgent: string | null
    readonly fallbackAgents: readonly string[]
  }
  readonly routingMetadata: {
    /** The agents that were asked before this one. */
    readonly decisionPath: readonly string[]
    readonly retries: number
  }
}

export interface IntentRef {
  readonly name: string
  readonly version: string
}

export const wireVersion = '1.0'

const text = z.string().max(1024)
const names = z.array(text).max(64).default([])

/** Written from the fields that are really sent: the published schemas describe an older draft. */
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

/** From what another runtime sent to an envelope, or to what is wrong with it. */
export function readEnvelope(
  value: unknown,
): { readonly envelope: IntentEnvelope } | { readonly fault: string } {
  const parsed = envelopeShape.safeParse(value)
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `/${path.join('/')} ${message}`)
    return { fault: faults.join('; ') }
  }
  try {
    const { payload, ...rest } = parsed.data
    return { envelope: frozenCopy({ ...rest, payload: payload ?? {} }) as object as IntentEnvelope }
  } catch (error) {
    if (error instanceof NotJson) return { fault: `/payload ${error.message}` }
    throw error
  }
}

/** As the next agent gets it: it sees who was asked before, and nothing else has changed. */
export const toAttempt = (
  envelope: IntentEnvelope,
  asked: readonly string[],
  retries: number,
): IntentEnvelope =>
  asked.length === 0 && retries === 0
    ? envelope
    : Object.freeze({
        ...envelope,
        routingMetadata: Object.freeze({
          decisionPath: Object.freeze([...envelope.routingMetadata.decisionPath, ...asked]),
          retries,
        }),
      })
