import type { Caller } from '../../capability/caller.ts'
import type { Cancellation } from '../../capability/cancellation.ts'
import type { Capability } from '../../capability/capability.ts'
import type { JsonObject } from '../../capability/json.ts'
import { isFailed, type Outcome } from '../../capability/outcome.ts'
import type { HttpReply } from '../../mcp/http-port.ts'
import type { Admitted, TokenGate } from '../../sources/records/grants/token-gate.ts'
import type { TokenRefusal } from '../../sources/records/grants/token-refusal.ts'
import type { KeptBlob } from '../../sources/records/record-store.ts'
import type { Arrival } from '../handler.ts'
import { carriesOwner, holdsOwner, toBearer } from './grant-callers.ts'
import { findOwnerRoute, serveOwner } from './owner-routes.ts'
import { readRoutes } from './read-routes.ts'
import { type Answerer, createAnswerer, version } from './records-answerer.ts'
import { introspect, toMetadata } from './records-metadata.ts'
import { decodeName, type Parameters, readParameters } from './records-parameters.ts'

export type { Answerer }

/** Where records are, and how what is asked of them passes everything that is enforced. */
export interface RecordsApi {
  /** By mount. */
  readonly doors: ReadonlyMap<string, TokenGate>
  readonly newId: () => string
  run(mount: string, errand: RestRequest): Promise<Outcome>
}

export interface RestRequest {
  /** The tool it amounts to, or what it is where there is none. */
  readonly capability: string | Capability
  readonly caller: Caller
  /** What is written down of it. */
  readonly input: JsonObject
  readonly cancellation: Cancellation
  readonly invoke: () => Promise<Outcome>
}

export const isRecordsPath = (path: string): boolean =>
  path === '/v1' ||
  path.startsWith('/v1/') ||
  path === '/introspect' ||
  path.startsWith('/.well-known/oauth-')

/** `/v1`: the same reads, for programs that speak HTTP and no MCP; and the owner's way in. */
export async function serveRecords(
  desk: RecordsApi,
  arrival: Arrival,
  bodyLimit: number,
  reply: HttpReply,
): Promise<void> {
  const { method, path, headers } = arrival
  const answerer = createAnswerer(arrival, reply, desk.newId())
  const { send, fail, refuseMethod } = answerer
  const asked = headers['pdpp-version']
  if (asked !== undefined && asked !== version)
    return fail(400, 'unsupported_version', `This server speaks ${version}.`)
  if (holdsOwner([...desk.doors.values()], path)) return answerer.refuse('owner')
  const allowed = listMethods(path)
  if (allowed.length > 0 && !allowed.includes(method)) return refuseMethod(allowed)
  if (path.startsWith('/.well-known/')) {
    const document = toMetadata(arrival, new Set(['', '/v1', ...desk.doors.keys()]))
    return document ? send(200, document) : fail(404, 'not_found', `Nothing is served at ${path}.`)
  }
  if (path === '/introspect') return introspect(desk, arrival, answerer)
  const owned = method === 'POST' ? findOwnerRoute(path) : undefined
  if (owned) return serveOwner(desk, owned, arrival, bodyLimit, answerer)
  return serveRead(desk, arrival, answerer)
}

/** None where nothing is. */
function listMethods(path: string): readonly string[] {
  if (path === '/introspect') return ['POST']
  if (path.startsWith('/.well-known/')) return ['GET']
  return [
    ...(readRoutes.some((route) => route.path.test(path)) ? ['GET'] : []),
    ...(findOwnerRoute(path) ? ['POST'] : []),
  ]
}

async function serveRead(desk: RecordsApi, arrival: Arrival, answerer: Answerer): Promise<void> {
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

interface AdmittedHere extends Admitted {
  readonly mount: string
  readonly door: TokenGate
}

/** By the first door that knows the token; an owner's is refused whichever it belongs to. */
function admitByGrant(
  doors: RecordsApi['doors'],
  arrival: Arrival,
): AdmittedHere | { readonly refusal: TokenRefusal } {
  if (carriesOwner([...doors.values()], arrival)) return { refusal: 'owner' }
  const bearer = toBearer(arrival.headers.authorization)
  for (const [mount, door] of doors) {
    const said = door.admit(bearer)
    if (!('refusal' in said)) return { mount, door, ...said }
    if (said.refusal !== 'unknown') return said
  }
  return { refusal: 'unknown' }
}
