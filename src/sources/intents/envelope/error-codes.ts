/** How sure one can be about what an attempt did that did not succeed. */
export type Certainty =
  /** It did not begin: nothing happened. */
  | 'nothing'
  /** The agent says that it failed. Part of it may have happened. */
  | 'told'
  /** Nobody knows. */
  | 'unknown'

interface Row {
  readonly certainty: Certainty
  /** Another agent, or the same one later, may do better. */
  readonly elsewhere: boolean
  /** Says something about the health of the agent, not about the request. */
  readonly ill: boolean
}

/** Every code an agent can fail with, and what follows from it. */
export const errorCodes = {
  // biome-ignore-start format: table
  VALIDATION_ERROR: { certainty: 'nothing', elsewhere: false, ill: false },
  AGENT_ERROR: { certainty: 'told', elsewhere: false, ill: false },
  ROUTING_ERROR: { certainty: 'nothing', elsewhere: false, ill: false },
  CAPABILITY_NOT_FOUND: { certainty: 'nothing', elsewhere: true, ill: false },
  AGENT_TIMEOUT: { certainty: 'unknown', elsewhere: true, ill: true },
  AGENT_UNAVAILABLE: { certainty: 'nothing', elsewhere: true, ill: true },
  PROTOCOL_ERROR: { certainty: 'unknown', elsewhere: true, ill: true },
  TRANSPORT_ERROR: { certainty: 'unknown', elsewhere: true, ill: true },
  UNAUTHORIZED: { certainty: 'nothing', elsewhere: false, ill: false },
  RATE_LIMIT: { certainty: 'nothing', elsewhere: true, ill: false },
  INTERNAL_AGENT_ERROR: { certainty: 'unknown', elsewhere: true, ill: true },
  PAYLOAD_TOO_LARGE: { certainty: 'nothing', elsewhere: false, ill: false },
  WORKFLOW_ABORTED: { certainty: 'told', elsewhere: false, ill: false },
  EMCL_FAILURE: { certainty: 'unknown', elsewhere: true, ill: true },
  // biome-ignore-end format: table
} as const satisfies Readonly<Record<string, Row>>

export type ErrorCode = keyof typeof errorCodes

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(errorCodes, code)

/** What is not in the table is a fault of the agent. */
export const toErrorCode = (code: unknown): ErrorCode =>
  isErrorCode(code) ? code : 'INTERNAL_AGENT_ERROR'
