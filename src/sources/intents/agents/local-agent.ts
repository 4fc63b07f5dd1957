import type { JsonObject } from '../../../capability/json.ts'
import { toCause } from '../../../capability/to-cause.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import {
  type AgentResult,
  readError,
  readResponse,
  toAgentFailure,
  toReportedFailure,
} from '../envelope/agent-result.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import { frozenCopy, NotJsonError } from '../envelope/frozen-copy.ts'
import { toErrorInfo } from '../envelope/response.ts'
import { type Agent, type AgentContext, AgentError } from './agent.ts'

export type AgentHandler = (envelope: IntentEnvelope, context: AgentContext) => unknown

/** Invokes an agent in this process. Converts whatever it returns or throws to a result. */
export const invokeLocally =
  (name: string, handle: AgentHandler): Agent['invoke'] =>
  async (envelope, context) => {
    try {
      return toResult(name, await handle(envelope, context))
    } catch (error) {
      return toFailure(name, error)
    }
  }

function toResult(name: string, value: unknown): AgentResult {
  if (value instanceof Error) return toFailure(name, value)
  if (isResponse(value)) {
    const result = readResponse(name, value)
    if (result) return result
  }
  try {
    const payload = value === undefined || value === null ? {} : value
    return {
      payload: frozenCopy(isPlainObject(payload) ? payload : { value: payload }) as JsonObject,
    }
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error
    const message = `${name} returned a value that cannot be represented as JSON.`
    return toAgentFailure(toErrorInfo('PROTOCOL_ERROR', message), { cause: error.message })
  }
}

/** `instanceof` alone is not enough: a module may load its own copy of this package. */
const isAgentError = (value: unknown): value is AgentError =>
  value instanceof AgentError ||
  (value instanceof Error && value.name === 'AgentError' && 'info' in value)

/** A complete response, as opposed to data that has a field `status` by chance. */
const isResponse = (value: unknown): boolean =>
  isPlainObject(value) &&
  (value.status === 'success' || value.status === 'error') &&
  'payload' in value &&
  'error' in value &&
  isPlainObject(value.metadata)

function toFailure(name: string, error: unknown): AgentResult {
  if (isAgentError(error)) return toReportedFailure(name, readError(error.info))
  const message = `An internal error occurred in the agent ${name}.`
  return toAgentFailure(toErrorInfo('INTERNAL_AGENT_ERROR', message), { cause: toCause(error) })
}
