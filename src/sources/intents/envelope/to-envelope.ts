import type { Call } from '../../../capability/call.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { IntentEnvelope, IntentRef, Strategy } from './envelope.ts'
import { frozenCopy } from './frozen-copy.ts'
import { readTraceId, toTraceId } from './trace.ts'
import { wireVersion } from './wire-version.ts'

/** The envelope for a call. */
export function toEnvelope(
  call: Call,
  intent: IntentRef,
  strategy: Strategy,
  now: number,
): IntentEnvelope {
  const timestamp = new Date(now).toISOString()
  return Object.freeze({
    version: wireVersion,
    intent: Object.freeze({ name: intent.name, version: intent.version }),
    payload: frozenCopy(call.input ?? {}) as JsonObject,
    context: Object.freeze({
      sourceAgent: 'client',
      timestamp,
      priority: 'normal' as const,
      tags: emptyList,
    }),
    metadata: Object.freeze({
      requestId: call.id,
      source: 'drawbridge',
      createdAt: timestamp,
      traceId: readTraceId(call.traceparent) ?? toTraceId(call.id),
      identityChain: Object.freeze([toIdentity(call)]),
    }),
    routing: Object.freeze({ strategy, targetAgent: null, fallbackAgents: emptyList }),
    routingMetadata: Object.freeze({ decisionPath: emptyList, retries: 0 }),
  })
}

/** An envelope of another runtime with the authenticated sender added to its identity chain. */
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

const emptyList: readonly string[] = Object.freeze([])
