/** Tells whether a failed attempt may have taken effect. Part of the execution log. */
export type Certainty =
  /** The agent did not begin: no effect. */
  | 'nothing'
  /** The agent reported the failure; part of the work may have been done. */
  | 'told'
  /** There is no information: the work may have been done. */
  | 'unknown'

interface ErrorCodeTraits {
  readonly certainty: Certainty
  /** Another agent, or the same one later, may succeed. */
  readonly failover: boolean
  /** Counts as a failure of the agent in its health, not only of this request. */
  readonly unhealthy: boolean
}

/** Every error code of the protocol, and what the router concludes from it. */
export const errorCodes = {
  // biome-ignore-start format: table
  VALIDATION_ERROR: { certainty: 'nothing', failover: false, unhealthy: false },
  AGENT_ERROR: { certainty: 'told', failover: false, unhealthy: false },
  ROUTING_ERROR: { certainty: 'nothing', failover: false, unhealthy: false },
  CAPABILITY_NOT_FOUND: { certainty: 'nothing', failover: true, unhealthy: false },
  AGENT_TIMEOUT: { certainty: 'unknown', failover: true, unhealthy: true },
  AGENT_UNAVAILABLE: { certainty: 'nothing', failover: true, unhealthy: true },
  PROTOCOL_ERROR: { certainty: 'unknown', failover: true, unhealthy: true },
  TRANSPORT_ERROR: { certainty: 'unknown', failover: true, unhealthy: true },
  UNAUTHORIZED: { certainty: 'nothing', failover: false, unhealthy: false },
  RATE_LIMIT: { certainty: 'nothing', failover: true, unhealthy: false },
  INTERNAL_AGENT_ERROR: { certainty: 'unknown', failover: true, unhealthy: true },
  PAYLOAD_TOO_LARGE: { certainty: 'nothing', failover: false, unhealthy: false },
  WORKFLOW_ABORTED: { certainty: 'told', failover: false, unhealthy: false },
  EMCL_FAILURE: { certainty: 'unknown', failover: true, unhealthy: true },
  // biome-ignore-end format: table
} as const satisfies Readonly<Record<string, ErrorCodeTraits>>

/** An error code of the protocol. `docs/intents.md` lists which of them allow a fallback. */
export type ErrorCode = keyof typeof errorCodes

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(errorCodes, code)

/** Unknown codes become INTERNAL_AGENT_ERROR: the agent broke the protocol. */
export const toErrorCode = (code: unknown): ErrorCode =>
  isErrorCode(code) ? code : 'INTERNAL_AGENT_ERROR'
