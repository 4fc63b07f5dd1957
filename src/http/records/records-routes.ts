import { type Fault, isFault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import { isFailed } from '../../capability/outcome.ts'
import type { HttpReply } from '../../mcp/http-port.ts'
import {
  containsOwnerToken,
  type TokenGate,
  type TokenGates,
} from '../../sources/records/grants/token-gate.ts'
import type { TokenRefusal } from '../../sources/records/grants/token-refusal.ts'
import type { GrantCaller } from '../../sources/records/record-source.ts'
import type { StoredBlob } from '../../sources/records/record-store.ts'
import type { Arrival } from '../arrival.ts'
import { toBearer } from '../callers.ts'
import type { Gate } from '../gate.ts'
import type { BodyLimits } from '../json-body.ts'
import { findOwnerRoute, serveOwner } from './owner-routes.ts'
import { requestContainsOwnerToken } from './owner-tokens.ts'
import { readRoutes } from './read-routes.ts'
import type { RecordsApi } from './records-api.ts'
import { introspect, toMetadata } from './records-metadata.ts'
import { decodeName, type QueryParameters, readParameters } from './records-parameters.ts'
import { isRecordsPath } from './records-path.ts'
import { contractVersion, createRecordsReply, type RecordsReply } from './records-reply.ts'

/** The REST API of records and its OAuth metadata. None of it exists while no mount has records. */
export const recordsRoute =
  (api: RecordsApi, body: BodyLimits): Gate =>
  (arrival, reply) =>
    api.tokenGates.size > 0 && isRecordsPath(arrival.path)
      ? serveRecords(api, arrival, body, reply)
      : 'pass'

async function serveRecords(
  api: RecordsApi,
  arrival: Arrival,
  body: BodyLimits,
  httpReply: HttpReply,
): Promise<void> {
  const { method, path, headers } = arrival
  const reply = createRecordsReply(arrival, httpReply, api.newId())
  const requestedVersion = headers['pdpp-version']
  if (requestedVersion !== undefined && requestedVersion !== contractVersion)
    return reply.fail(
      400,
      'unsupported_version',
      `Unsupported contract version. This server supports ${contractVersion}.`,
    )
  // The 404 and 405 answers below would repeat the path.
  if (containsOwnerToken(api.tokenGates, path)) return reply.refuse('owner')
  const allowed = listMethods(path)
  if (allowed.length > 0 && !allowed.includes(method)) return reply.refuseMethod(allowed)
  if (path.startsWith('/.well-known/')) return serveMetadata(api, arrival, reply)
  if (path === '/introspect') return introspect(api, arrival, reply)
  const match = method === 'POST' ? findOwnerRoute(path) : undefined
  if (match) return serveOwner(api, match, arrival, body, reply)
  return serveRead(api, arrival, reply)
}

/** Empty for unknown paths. */
function listMethods(path: string): readonly string[] {
  if (path === '/introspect') return ['POST']
  if (path.startsWith('/.well-known/')) return ['GET']
  return [
    ...(readRoutes.some((route) => route.path.test(path)) ? ['GET'] : []),
    ...(findOwnerRoute(path) ? ['POST'] : []),
  ]
}

function serveMetadata({ tokenGates }: RecordsApi, arrival: Arrival, reply: RecordsReply): void {
  const document = toMetadata(arrival, new Set(['', '/v1', ...tokenGates.keys()]))
  if (document) return reply.send(200, document)
  return reply.fail(404, 'not_found', `Nothing is served at ${arrival.path}.`)
}

async function serveRead(api: RecordsApi, arrival: Arrival, reply: RecordsReply): Promise<void> {
  const { path, query, cancellation } = arrival
  const admission = admitByGrant(api.tokenGates, arrival)
  if (isFault(admission)) return reply.refuse(admission.fault)
  const match = findReadRoute(path)
  if (!match) return reply.fail(404, 'not_found', `Nothing is served at ${path}.`)
  const { route, names } = match
  const parameters = readParameters(query, route)
  if (isFault(parameters)) return reply.fail(400, parameters.code, parameters.fault)
  const { mount, tokenGate, caller } = admission
  let blob: StoredBlob | undefined
  const outcome = await api.run(mount, {
    capability: route.tool,
    caller,
    input: { path, query },
    cancellation,
    async invoke() {
      const reader = tokenGate.open(caller.grantId)
      if (isFailed(reader)) return reader
      const answer = await route.read(reader, parameters, names)
      if (isFailed(answer)) return answer
      if (answer.object === 'blob') blob = reader.store.blob(names[0] ?? '')
      return { kind: 'done', data: withLinks(answer, arrival, parameters) }
    },
  })
  if (outcome.kind !== 'done' || !blob) return reply.sendOutcome(outcome)
  return reply.sendBytes(blob.bytes, { 'content-type': blob.mimeType, etag: `"${blob.id}"` })
}

function findReadRoute(path: string) {
  for (const route of readRoutes) {
    const match = route.path.exec(path)
    if (match) return { route, names: match.slice(1).map(decodeName) }
  }
  return undefined
}

/** Adds the address of a list and of its next page. */
function withLinks(
  answer: JsonObject,
  { path, query }: Arrival,
  { one }: QueryParameters,
): JsonObject {
  if (answer.object !== 'list' && answer.object !== 'schema') return answer
  const self = query === '' ? path : `${path}?${query}`
  const { next_cursor } = answer
  if (typeof next_cursor !== 'string') return { ...answer, url: path, links: { self, next: null } }
  const next = new URLSearchParams(query)
  next.set('cursor', next_cursor)
  if (one('changes_since') !== undefined) next.set('changes_since', one('changes_since') ?? '')
  return { ...answer, url: path, links: { self, next: `${path}?${next}` } }
}

interface Admission {
  readonly caller: GrantCaller
  readonly mount: string
  readonly tokenGate: TokenGate
}

/** Asks each mount in turn: the first that knows the token decides. */
function admitByGrant(tokenGates: TokenGates, arrival: Arrival): Admission | Fault<TokenRefusal> {
  if (requestContainsOwnerToken(tokenGates, arrival)) return { fault: 'owner' }
  const bearer = toBearer(arrival.headers.authorization)
  for (const [mount, tokenGate] of tokenGates) {
    const caller = tokenGate.admit(bearer)
    if (!isFault(caller)) return { mount, tokenGate, caller }
    if (caller.fault !== 'unknown') return caller
  }
  return { fault: 'unknown' }
}
