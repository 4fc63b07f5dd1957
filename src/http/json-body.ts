import { isUtf8 } from 'node:buffer'
import { parseJson } from '../json/parse-json.ts'
import type { Headers, HttpReply } from '../mcp/http-port.ts'
import { containsOwnerToken, type TokenGates } from '../sources/records/grants/token-gate.ts'
import type { Arrival, BodyRefusal } from './arrival.ts'
import { type BodyAdmission, isSmallBody } from './body-admission.ts'
import { isJson } from './content-type.ts'
import { checkShape, isTooDeep } from './json-shape.ts'
import { refuseToken } from './records/grant-callers.ts'

/** Uses a body; `json` is `undefined` when the text is not valid JSON. */
export type UseJson = (json: unknown) => void | Promise<void>

export interface BodyLimits {
  readonly maxBytes: number
  /** The largest number of JSON values. */
  readonly maxValues: number
  readonly admission: BodyAdmission
}

export interface BodyOptions extends BodyLimits {
  readonly tokenGates: TokenGates
  /** Answers in the error format of the route. */
  readonly refuse: (
    reply: HttpReply,
    status: BodyStatus,
    message: string,
    headers?: Headers,
  ) => void
}

export type BodyStatus = 400 | 408 | 413 | 415 | 503

/**
 * Reads the body and passes it on, or answers. All routes with a JSON body read it here,
 * so that none forgets a check: owner tokens are for imports alone, and one in the arguments of a
 * call or a frame would reach a tool, another server or a log.
 */
export function readJsonBody(
  arrival: Arrival,
  caller: string,
  reply: HttpReply,
  options: BodyOptions,
  use: UseJson,
): Promise<void> {
  const { maxBytes, admission, refuse } = options
  admission.note(caller)
  // CSRF: a page cannot send this content type without a preflight request.
  if (!isJson(arrival.headers['content-type'])) {
    refuse(reply, 415, 'Content-Type must be application/json')
    return Promise.resolve()
  }
  return arrival.readBytes(maxBytes, caller).then((bytes) => {
    if (typeof bytes === 'string') return refuseRead(bytes, caller, reply, options)
    if (!isUtf8(bytes)) return refuse(reply, 400, 'The body is not valid UTF-8')
    if (isSmallBody(bytes.length)) return useText(bytes, arrival, reply, options, use)
    return prepareLarge(bytes, arrival, caller, reply, options).then((isPrepared) =>
      isPrepared ? useText(bytes, arrival, reply, options, use) : undefined,
    )
  })
}

function useText(
  bytes: Buffer,
  arrival: Arrival,
  reply: HttpReply,
  { tokenGates, refuse }: BodyOptions,
  use: UseJson,
): void | Promise<void> {
  const text = bytes.toString()
  if (containsOwnerToken(tokenGates, text)) return refuseToken('owner', arrival, reply)
  if (isSmallBody(bytes.length) && isTooDeep(text)) return refuse(reply, 400, messages.too_deep)
  return use(parseJson(text))
}

const messages = { too_deep: 'The body is nested too deeply' }

function refuseRead(
  refusal: BodyRefusal,
  caller: string,
  reply: HttpReply,
  { maxBytes, admission, refuse }: BodyOptions,
): void {
  switch (refusal) {
    case 'too_large':
      return refuse(reply, 413, `The body is larger than ${maxBytes} bytes`)
    case 'too_slow':
      return refuse(reply, 408, 'The body was not received in time')
    case 'busy': {
      const seconds = admission.retryAfter(caller)
      const message = `Too many large requests at once. Try again in ${seconds} s.`
      return refuse(reply, 503, message, { 'retry-after': String(seconds) })
    }
  }
}

/** Accounts for a large body, checks its shape and waits for its turn to be parsed. */
async function prepareLarge(
  bytes: Buffer,
  arrival: Arrival,
  caller: string,
  reply: HttpReply,
  options: BodyOptions,
): Promise<boolean> {
  const { admission, maxValues, refuse } = options
  const { length } = bytes
  if (!admission.hold(caller, length)) {
    refuseRead('busy', caller, reply, options)
    return false
  }
  arrival.onEnd(() => admission.drop(caller, length))
  await admission.takeTurn()
  const values = checkShape(bytes, maxValues)
  admission.charge(caller, length, typeof values === 'number' ? values : 0)
  if (values === 'too_deep') refuse(reply, 400, messages.too_deep)
  else if (values === 'too_many_values')
    refuse(reply, 400, `The body contains more than ${maxValues} values`)
  else return true
  return false
}
