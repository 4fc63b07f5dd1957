import type { Caller } from './caller.ts'
import type { Cancellation } from './cancellation.ts'
import type { Capability, View } from './capability.ts'
import type { Json } from './json.ts'
import { type Listener, silentListener } from './listener.ts'
import type { Outcome } from './outcome.ts'
import { type AuditTrail, emptyPlan, type Plan } from './plan.ts'
import type { Answer } from './question.ts'

/** One request to run one capability. Immutable: a step passes a changed copy to the next one. */
export interface Call {
  /** Unique per call; audit entries and results refer to it. */
  readonly id: string
  /** The capability that is called, with the operator's policy merged into its rules. */
  readonly capability: Capability
  /** Mount and served name. Idempotency keys, budgets and approvals are scoped to it. */
  readonly address: string
  /** Fingerprint of the capability's definition when the call arrived. */
  readonly fingerprint: string
  /** The identity that the call is made for. */
  readonly caller: Caller
  /** The arguments as the client sent them; from the input step on, as the contract parsed them. */
  readonly input: unknown
  /** The unparsed arguments less the idempotency key: digested, shown to approvers, audited. */
  readonly rawInput: unknown
  /** Cancels the call: on timeout, when the client cancels, and at shutdown. */
  readonly cancellation: Cancellation
  /** Answers to the questions of an earlier `asking` outcome, by question name. */
  readonly answers: Readonly<Record<string, Answer>>
  /** The `state` of that earlier outcome; its seal has been verified. */
  readonly state: Json | undefined
  /** The kinds of `Question` that the client can answer. */
  readonly canAsk: ReadonlySet<string>
  /** The idempotency key from the request's metadata or arguments. */
  readonly idempotencyKey: string | undefined
  /** The idempotency key from the transport (an HTTP header): used when `idempotencyKey` is absent. */
  readonly transportKey: string | undefined
  /** The fingerprint the client has seen; the call is refused when the definition differs. */
  readonly expectedFingerprint: string | undefined
  /** The capabilities and views that the caller can list. */
  readonly listing: Listing
  /** Receives progress and log entries while the call runs. */
  readonly listener: Listener
  /** W3C Trace Context header, when the client sent a valid one. */
  readonly traceparent: string | undefined
  /**
   * Asked before another attempt to reach the same server: each counts against the rates. Returns 0, or the
   * milliseconds until a rate would allow one; then the attempt must not be made.
   */
  readonly admitRetry: () => number
  /** Runs another capability of the same source, for the same caller, through the same pipeline. */
  readonly run: RunInner
  /** `true` for a call that another call makes through `run`. */
  readonly isInner: boolean
  /** Collects what the audit records. The one mutable part: the steps write to it. */
  readonly auditTrail: AuditTrail
  /** Collected by the steps, committed to the ledger before the call may take effect. */
  readonly plan: Plan
}

/** The parts of a new call; the optional ones have neutral defaults. */
export interface CallParts {
  readonly id: string
  readonly capability: Capability
  readonly address: string
  readonly fingerprint: string
  readonly caller: Caller
  readonly input: unknown
  readonly cancellation: Cancellation
  readonly answers?: Call['answers'] | undefined
  readonly state?: Json | undefined
  readonly canAsk?: Call['canAsk'] | undefined
  readonly idempotencyKey?: string | undefined
  readonly transportKey?: string | undefined
  readonly expectedFingerprint?: string | undefined
  readonly listing?: Listing | undefined
  readonly listener?: Listener | undefined
  readonly traceparent?: string | undefined
  readonly run: RunInner
  readonly isInner?: boolean | undefined
}

/**
 * The one constructor of calls. Without the optional parts: a client that cannot be asked anything
 * and receives no progress. Hot path: one literal with all keys in one order, so that every call has
 * the same hidden class.
 */
export const createCall = (parts: CallParts): Call => ({
  id: parts.id,
  capability: parts.capability,
  address: parts.address,
  fingerprint: parts.fingerprint,
  caller: parts.caller,
  input: parts.input,
  rawInput: parts.input,
  cancellation: parts.cancellation,
  answers: parts.answers ?? noAnswers,
  state: parts.state,
  canAsk: parts.canAsk ?? noQuestionKinds,
  idempotencyKey: parts.idempotencyKey,
  transportKey: parts.transportKey,
  expectedFingerprint: parts.expectedFingerprint,
  listing: parts.listing ?? emptyListing,
  listener: parts.listener ?? silentListener,
  traceparent: parts.traceparent,
  admitRetry: admitAlways,
  run: parts.run,
  isInner: parts.isInner ?? false,
  auditTrail: { decisions: [], startedAt: undefined, digest: undefined, cost: undefined },
  plan: emptyPlan,
})

const admitAlways = () => 0
const noAnswers: Call['answers'] = Object.freeze({})
const noQuestionKinds: Call['canAsk'] = new Set()

/** One function for all calls, which takes the outer call as an argument: no closure per call. */
export type RunInner = (outer: Call, name: string, inner: InnerCall) => Promise<Outcome>

/** A call that another call makes. */
export interface InnerCall {
  /** Unique within the outer call; part of the inner call's id and idempotency key. */
  readonly step: string
  /** The arguments. */
  readonly input: unknown
  /** Answers to the questions of an earlier `asking` outcome of the inner call. */
  readonly answers?: Call['answers']
  /** The `state` of that outcome. */
  readonly state?: Json
}

/** The capabilities and views listed for a caller right now, under their served names. */
export interface Listing {
  /** Tools, sorted by name. */
  capabilities(): readonly Capability[]
  /** Resources, without URI templates. */
  views(): readonly View[]
}

export const emptyListing: Listing = { capabilities: () => [], views: () => [] }
