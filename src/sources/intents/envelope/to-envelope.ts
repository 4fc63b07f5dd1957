import type { Call } from '../../../capability/call.ts'
import type { JsonObject } from '../../../capability/json.ts'
import { type IntentEnvelope, type IntentRef, type Strategy, wireVersion } from './envelope.ts'
import { frozenCopy } from './frozen-copy.ts'
import { readTraceId, toTraceId } from './trace.ts'

/** A new envelope for each call. Its payload is what the caller sent; the rest is made here. */
export function toEnvelope(
  call: Call,
  intent: IntentRef,
  strategy: Strategy,
  now: number,
): IntentEnvelope {
  const at = new Date(now).toISOString()
  return Object.freeze({
    version: wireVersion,
    intent: Object.freeze({ name: intent.name, version: intent.version }),
    payload: frozenCopy(call.input ?? {}) as JsonObject,
    context: Object.freeze({
      sourceAgent: 'client',
      timestamp: at,
      priority: 'normal' as const,
      tags: none,
    }),
    metadata: Object.freeze({
      requestId: call.id,
      source: 'drawbridge',
      createdAt: at,
      traceId: readTraceId(call.traceparent) ?? toTraceId(call.id),
      identityChain: Object.freeze([toIdentity(call)]),
    }),
    routing: Object.freeze({ strategy, targetAgent: null, fallbackAgents: none }),
    routingMetadata: Object.freeze({ decisionPath: none, retries: 0 }),
  })
}

/** Somebody else's envelope, once who sent it is known: they are added to its chain. */
export const toForwarded = (envelope: IntentEnvelope, call: Call): IntentEnvelope =>
  Object.freeze({
    ...envelope,
    payload: frozenCopy(call.input ?? {}) as JsonObject,
    metadata: Object.freeze({
      ...envelope.metadata,
      traceId: envelope.metadata.traceId || (readTraceId(call.traceparent) ?? toTraceId(call.id)),
      identityChain: Object.freeze([...envelope.metadata.identityChain, toIdentity(call)]),
    }),
  })

const toIdentity = ({ caller }: Call): string => `caller:${caller.subject}`

const none: readonly string[] = Object.freeze([])
