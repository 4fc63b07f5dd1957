import { randomUUID } from 'node:crypto'
import type { Caller } from '../capability/caller.ts'
import type { Cancellation } from '../capability/cancellation.ts'
import type { Capability } from '../capability/capability.ts'
import { isPlainObject, type JsonObject } from '../capability/json.ts'
import type { Failed, Outcome } from '../capability/outcome.ts'
import type { HttpReply } from '../mcp/http-port.ts'
import { type Admitted, type Door, type Refusal, refusalWords } from '../sources/records/door.ts'
import type { ReadFailureCode } from '../sources/records/failures.ts'
import { isFailed } from '../sources/records/reader.ts'
import type { KeptBlob } from '../sources/records/record-store.ts'
import {
  carriesOwner,
  holdsOwner,
  refusalStatus,
  toBearer,
  toChallenge,
  toOrigin,
} from './grant-callers.ts'
import type { Arrival } from './handler.ts'
import { findOwnerRoute, serveOwner } from './owner-routes.ts'
import { readRoutes } from './read-routes.ts'
import { introspect, toMetadata } from './records-metadata.ts'
import { decodeName, type Parameters, readParameters } from './records-parameters.ts'

/** Where records are, and how what is asked of them passes everything that is enforced. */
export interface RecordsDesk {
  /** By mount. */
  readonly doors: ReadonlyMap<string, Door>
  run(mount: string, errand: Errand): Promise<Outcome>
}

export interface Errand {
  /** The tool it amounts to, or what it is where there is none. */
  readonly capability: string | Capability
  readonly caller: Caller
  /** What is written down of it. */
  readonly input: JsonObject
  readonly cancellation: Cancellation
  readonly invoke: () => Promise<Outcome>
}

const version = '2026-04-06'

export const isRecordsPath = (path: string): boolean =>
  path === '/v1' ||
  path.startsWith('/v1/') ||
  path === '/introspect' ||
  path.startsWith('/.well-known/oauth-')

/** How one request is answered. */
export interface Answerer {
  readonly send: (status: number, body: object) => void
  readonly bytes: (bytes: Uint8Array, headers: Readonly<Record<string, string>>) => void
  readonly fail: (status: number, code: string, message: string, more?: JsonObject) => void
  readonly refuse: (refusal: Refusal) => void
  readonly outcome: (outcome: Outcome) => void
}

/** `/v1`: the same reads, for programs that speak HTTP and no MCP; and the owner's way in. */
export async function serveRecords(
  desk: RecordsDesk,
  arrival: Arrival,
  bodyLimit: number,
  reply: HttpReply,
): Promise<void> {
  const { method, path, headers } = arrival
  const answerer = createAnswerer(arrival, reply)
  const { send, fail } = answerer
  const asked = headers['pdpp-version']
  if (asked !== undefined && asked !== version)
    return fail(400, 'unsupported_version', `This server speaks ${version}.`)
  if (holdsOwner([...desk.doors.values()], path)) return answerer.refuse('owner')
  if (path.startsWith('/.well-known/')) {
    const document = toMetadata(arrival, new Set(['', '/v1', ...desk.doors.keys()]))
    return document ? send(200, document) : fail(404, 'not_found', `Nothing is served at ${path}.`)
  }
  if (path === '/introspect') return introspect(desk, arrival, answerer)
  const owned = method === 'POST' ? findOwnerRoute(path) : undefined
  if (owned) return serveOwner(desk, owned, arrival, bodyLimit, answerer)
  if (method !== 'GET') return fail(405, 'invalid_request', 'Only GET.')
  return serveRead(desk, arrival, answerer)
}

async function serveRead(desk: RecordsDesk, arrival: Arrival, answerer: Answerer): Promise<void> {
  const { path, query, cancellation } = arrival
  const { fail, refuse } = answerer
  const admitted = admitByGrant(desk.doors, arrival)
  if ('refusal' in admitted) return refuse(admitted.refusal)
  const found = readRoutes
    .map((route) => ({ route, names: route.path.exec(path)?.slice(1).map(decodeName) }))
    .find(({ names }) => names)
  if (!found) return fail(404, 'not_found', `Nothing is served at ${path}.`)
  const { route, names = [] } = found
  const parameters = readParameters(query, route)
  if ('fault' in parameters) return fail(400, parameters.code, parameters.fault)
  const { mount, door, caller, given } = admitted
  let blob: KeptBlob | undefined
  const outcome = await desk.run(mount, {
    capability: route.tool,
    caller,
    input: { path, query },
    cancellation,
    async invoke() {
      const reader = door.open(given)
      if (isFailed(reader)) return reader
      const answer = await route.read(reader, parameters, names)
      if (isFailed(answer)) return answer
      if (answer.object === 'blob') blob = reader.store.blob(names[0] ?? '')
      return { kind: 'done', data: toLinked(answer, arrival, parameters) }
    },
  })
  if (outcome.kind !== 'done' || !blob) return answerer.outcome(outcome)
  return answerer.bytes(blob.bytes, { 'content-type': blob.mimeType, etag: `"${blob.id}"` })
}

/** Lists say where they are, and where they go on. */
function toLinked(answer: JsonObject, { path, query }: Arrival, { one }: Parameters): JsonObject {
  if (answer.object !== 'list' && answer.object !== 'schema') return answer
  const self = query === '' ? path : `${path}?${query}`
  const { next_cursor } = answer
  if (typeof next_cursor !== 'string') return { ...answer, url: path, links: { self, next: null } }
  const next = new URLSearchParams(query)
  next.set('cursor', next_cursor)
  if (one('changes_since') !== undefined) next.set('changes_since', one('changes_since') ?? '')
  return { ...answer, url: path, links: { self, next: `${path}?${next}` } }
}

function createAnswerer({ headers, path }: Arrival, reply: HttpReply): Answerer {
  const request = randomUUID()
  const common = { 'request-id': request, 'pdpp-version': version }
  const send = (status: number, body: object, more: Record<string, string> = {}) =>
    reply.answer(status, JSON.stringify(body), { ...common, ...more })
  const fail: Answerer['fail'] = (status, code, message, more = {}) => {
    const error = {
      type: types[status] ?? 'api_error',
      code,
      message,
      request_id: request,
      ...more,
    }
    if (status !== 401) return send(status, { error }, toRetryAfter(more))
    const resource_metadata = `${toOrigin(headers)}/.well-known/oauth-protected-resource`
    const next_step = 'Ask the owner for a grant: "drawbridge grants create" gives out its token.'
    return send(
      401,
      { error: { ...error, resource_metadata, next_step } },
      toChallenge(headers, path),
    )
  }
  return {
    send,
    fail,
    bytes: (bytes, more) =>
      reply.answer(200, [bytes], {
        ...common,
        'content-length': String(bytes.length),
        'cache-control': 'private, no-store',
        // Nothing that somebody once sent is run by a browser that shows it.
        'x-content-type-options': 'nosniff',
        'content-disposition': 'attachment',
        ...more,
      }),
    refuse: (refusal) => fail(...refusalStatus[refusal], refusalWords[refusal]),
    outcome(outcome) {
      switch (outcome.kind) {
        case 'done':
          return send(200, isPlainObject(outcome.data) ? outcome.data : {})
        case 'asking':
          return fail(403, 'approval_required', 'This needs an approval, and cannot ask for one.')
        case 'failed':
          return failWith(outcome, fail)
      }
    },
  }
}

function failWith({ failure }: Failed, fail: Answerer['fail']): void {
  const { code, message, details, fixedBy } = failure
  if (fixedBy === 'operator') return fail(500, 'api_error', 'Something is out of order here.')
  const [status, name] = statuses[code as ReadFailureCode] ?? governed[code] ?? [400, code]
  return fail(status, name, message, details)
}

const toRetryAfter = ({ retry_after_ms }: JsonObject): Record<string, string> =>
  typeof retry_after_ms === 'number'
    ? { 'retry-after': String(Math.ceil(retry_after_ms / 1000)) }
    : {}

interface AdmittedHere extends Admitted {
  readonly mount: string
  readonly door: Door
}

/** By the first door that knows the token; an owner's is refused whichever it belongs to. */
function admitByGrant(
  doors: RecordsDesk['doors'],
  arrival: Arrival,
): AdmittedHere | { readonly refusal: Refusal } {
  if (carriesOwner([...doors.values()], arrival)) return { refusal: 'owner' }
  const bearer = toBearer(arrival.headers.authorization)
  for (const [mount, door] of doors) {
    const said = door.admit(bearer)
    if (!('refusal' in said)) return { mount, door, ...said }
    if (said.refusal !== 'unknown') return said
  }
  return { refusal: 'unknown' }
}

/** By failure: its status, and what the contract calls it. */
const statuses: Readonly<Record<ReadFailureCode, readonly [number, string]>> = {
  invalid_request: [400, 'invalid_request'],
  invalid_argument: [400, 'invalid_argument'],
  invalid_filter: [400, 'invalid_request'],
  invalid_sort: [400, 'invalid_sort'],
  invalid_expand: [400, 'invalid_expand'],
  invalid_cursor: [400, 'invalid_cursor'],
  cursor_expired: [410, 'cursor_expired'],
  unknown_field: [400, 'unknown_field'],
  unknown_stream: [403, 'grant_stream_not_allowed'],
  not_found: [404, 'not_found'],
  blob_not_found: [404, 'blob_not_found'],
  connection_not_found: [404, 'connection_not_found'],
  conflicting_connection_id: [400, 'invalid_argument'],
  ambiguous_connection: [409, 'ambiguous_connection'],
  ambiguous_schema_detail: [409, 'ambiguous_schema_detail'],
  timed_out: [503, 'timed_out'],
  owner_token_refused: [403, 'owner_token_refused'],
  remote_busy: [429, 'rate_limit_exceeded'],
  remote_unavailable: [502, 'api_error'],
  remote_refused: [502, 'api_error'],
  grant_missing: [401, 'authentication_error'],
  grant_revoked: [403, 'grant_revoked'],
  grant_expired: [403, 'grant_expired'],
}

/** The same for what policy may say. */
const governed: Readonly<Record<string, readonly [number, string]>> = {
  rate_limited: [429, 'rate_limit_exceeded'],
  budget_exceeded: [429, 'rate_limit_exceeded'],
  insufficient_scope: [403, 'insufficient_scope'],
  approval_required: [403, 'approval_required'],
  result_too_large: [413, 'result_too_large'],
}

const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  410: 'gone_error',
  413: 'invalid_request_error',
  429: 'rate_limit_error',
}
