import { inspect } from 'node:util'
import { isPlainObject, type JsonObject } from '../../../capability/json.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import { frozenCopy, NotJson } from '../envelope/frozen-copy.ts'
import { readResponse, toErrorInfo } from '../envelope/response.ts'
import { type Agent, type AgentAnswer, type AgentContext, AgentError } from './agent.ts'

export type Handle = (envelope: IntentEnvelope, context: AgentContext) => unknown

/** Asks an agent in this process. Whatever it does, an answer comes back. */
export const askLocally =
  (name: string, handle: Handle): Agent['invoke'] =>
  async (envelope, context) => {
    try {
      return toAnswer(name, await handle(envelope, context))
    } catch (thrown) {
      return toFault(name, thrown)
    }
  }

function toAnswer(name: string, returned: unknown): AgentAnswer {
  if (isAgentError(returned)) return { error: returned.info }
  if (isResponse(returned)) {
    const said = readResponse(returned)
    if (said) return said
  }
  try {
    const payload = returned === undefined || returned === null ? {} : returned
    return {
      payload: frozenCopy(isPlainObject(payload) ? payload : { value: payload }) as JsonObject,
    }
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    const message = `${name} answered with something that JSON cannot carry.`
    return { error: toErrorInfo('PROTOCOL_ERROR', message), cause: error.message }
  }
}

/** Not `instanceof`: a module may bring its own copy of this package. */
const isAgentError = (value: unknown): value is AgentError =>
  value instanceof AgentError ||
  (value instanceof Error && value.name === 'AgentError' && 'info' in value)

/** A whole response, and not data that happens to have a status. */
const isResponse = (value: unknown): boolean =>
  isPlainObject(value) &&
  (value.status === 'success' || value.status === 'error') &&
  'payload' in value &&
  'error' in value &&
  isPlainObject(value.metadata)

function toFault(name: string, thrown: unknown): AgentAnswer {
  if (isAgentError(thrown)) return { error: thrown.info }
  const message = `Something went wrong inside the agent ${name}.`
  return { error: toErrorInfo('INTERNAL_AGENT_ERROR', message), cause: toCause(thrown) }
}

function toCause(thrown: unknown): string {
  try {
    return thrown instanceof Error && typeof thrown.stack === 'string'
      ? thrown.stack
      : inspect(thrown, { depth: 2, maxStringLength: 1000 })
  } catch {
    return 'something that cannot be described'
  }
}
