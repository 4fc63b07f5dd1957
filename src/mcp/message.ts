import { isPlainObject } from '../json/is-plain-object.ts'
import { protocolMeta } from './wire-names.ts'

export type Params = Readonly<Record<string, unknown>>
export type RequestId = string | number

/** A JSON-RPC message from a client. */
export type Message = Request | Notification | Response

export interface Request {
  readonly kind: 'request'
  readonly id: RequestId
  readonly method: string
  readonly params: Params
}

export interface Notification {
  readonly kind: 'notification'
  readonly method: string
  readonly params: Params
}

/** The answer to a request of ours. `result` is absent when the client answered with an error. */
export interface Response {
  readonly kind: 'response'
  readonly id: RequestId
  readonly result: Params | undefined
}

export const noParams: Params = Object.freeze({})

/**
 * Reads a message that is plainly valid. All others, `undefined` here, are judged by the SDK (`judge.ts`), so that
 * edge cases are decided as the SDK decides them.
 */
export function readPlain(body: unknown): Message | undefined {
  if (!isPlainObject(body) || body.jsonrpc !== '2.0') return undefined
  const { id, method, params } = body
  if (typeof method !== 'string') return readPlainResponse(body)
  for (const key in body) if (!requestKeys.has(key)) return undefined
  if (params !== undefined && !isPlainParams(params)) return undefined
  if (isId(id)) return { kind: 'request', id, method, params: params ?? noParams }
  return Object.hasOwn(body, 'id')
    ? undefined
    : { kind: 'notification', method, params: params ?? noParams }
}

export const isId = (id: unknown): id is RequestId =>
  typeof id === 'string' || Number.isSafeInteger(id)

const requestKeys = new Set(['jsonrpc', 'id', 'method', 'params'])

function isPlainParams(params: unknown): params is Params {
  if (!isPlainObject(params)) return false
  const { _meta: meta } = params
  if (meta === undefined) return true
  if (!isPlainObject(meta) || meta[protocolMeta.relatedTask] !== undefined) return false
  return meta.progressToken === undefined || isId(meta.progressToken)
}

function readPlainResponse(body: Readonly<Record<string, unknown>>): Response | undefined {
  const { id, result } = body
  for (const key in body)
    if (key !== 'jsonrpc' && key !== 'id' && key !== 'result') return undefined
  return isId(id) && isPlainParams(result) ? { kind: 'response', id, result } : undefined
}
