import { parseJson } from '../json/parse-json.ts'
import type { HttpReply } from '../mcp/http-port.ts'
import { containsOwnerToken, type TokenGates } from '../sources/records/grants/token-gate.ts'
import type { Arrival } from './arrival.ts'
import { isJson } from './content-type.ts'
import { isTooDeep } from './json-depth.ts'
import { refuseToken } from './records/grant-callers.ts'

export interface JsonBody {
  /** `undefined` when the text is not valid JSON. */
  readonly json: unknown
}

export interface BodyOptions {
  readonly maxBytes: number
  readonly tokenGates: TokenGates
  /** Answers in the error format of the route. */
  readonly refuse: (reply: HttpReply, status: BodyStatus, message: string) => void
}

export type BodyStatus = 400 | 413 | 415

/**
 * Returns the body, or answers and returns `undefined`. All routes with a JSON body read it here,
 * so that none forgets a check: owner tokens are for imports alone, and one in the arguments of a
 * call or a frame would reach a tool, another server or a log.
 */
export async function readJsonBody(
  arrival: Arrival,
  reply: HttpReply,
  { maxBytes, tokenGates, refuse }: BodyOptions,
): Promise<JsonBody | undefined> {
  // CSRF: a page cannot send this content type without a preflight request.
  if (!isJson(arrival.headers['content-type']))
    refuse(reply, 415, 'Content-Type must be application/json')
  else {
    const text = (await arrival.readBytes(maxBytes))?.toString()
    if (text === undefined) refuse(reply, 413, `The body is larger than ${maxBytes} bytes`)
    else if (containsOwnerToken(tokenGates, text)) refuseToken('owner', arrival, reply)
    else if (isTooDeep(text)) refuse(reply, 400, 'The body is nested too deeply')
    else return { json: parseJson(text) }
  }
  return undefined
}
