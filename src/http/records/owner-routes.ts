import { hash } from 'node:crypto'
import type { Caller } from '../../capability/caller.ts'
import { isFault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import { type Failed, isFailed } from '../../capability/outcome.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { cannotRead } from '../../sources/records/failures.ts'
import type { TokenGates } from '../../sources/records/grants/token-gate.ts'
import { ingest, intakeCapability, storeBlob } from '../../sources/records/import/ingest.ts'
import type { RecordSink } from '../../sources/records/record-sink.ts'
import type { Arrival } from '../arrival.ts'
import { toBearer } from '../callers.ts'
import type { BodyLimits } from '../json-body.ts'
import { requestContainsOwnerToken } from './owner-tokens.ts'
import type { RecordsApi } from './records-api.ts'
import { decodeName, type QueryParameters, readParameters } from './records-parameters.ts'
import type { RecordsReply } from './records-reply.ts'

interface OwnerRoute {
  readonly path: RegExp
  readonly name: 'ingest' | 'keep_blob'
  readonly parameters: readonly string[]
  write(sink: RecordSink, upload: Upload): Promise<JsonObject | Failed>
}

interface Upload {
  readonly parameters: QueryParameters
  /** The stream in the path, on routes that have one. */
  readonly stream: string | undefined
  readonly mimeType: string
  readonly bytes: Uint8Array
}

const ownerRoutes: readonly OwnerRoute[] = [
  {
    path: /^\/v1\/ingest\/([^/]+)$/,
    name: 'ingest',
    parameters: ['connector_id'],
    async write(sink, { parameters, stream = '', bytes }) {
      const text = decodeUtf8(bytes)
      if (text === undefined) return cannotRead('invalid_request', 'The body is not valid UTF-8.')
      return ingest(sink, toDestination(parameters, stream), text, Date.now)
    },
  },
  {
    path: /^\/v1\/blobs$/,
    name: 'keep_blob',
    parameters: ['connector_id', 'stream', 'record_key'],
    write: (sink, { parameters, mimeType, bytes }) =>
      storeBlob(sink, {
        ...toDestination(parameters, parameters.one('stream') ?? ''),
        key: parameters.one('record_key') ?? '',
        mimeType,
        bytes,
      }),
  },
]

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const toDestination = ({ one }: QueryParameters, stream: string) => ({
  stream,
  connection: one('connection_id'),
  connector: one('connector_id'),
})

export interface OwnerRouteMatch {
  readonly route: OwnerRoute
  readonly stream: string | undefined
}

export function findOwnerRoute(path: string): OwnerRouteMatch | undefined {
  for (const route of ownerRoutes) {
    const match = route.path.exec(path)
    if (match) return { route, stream: match[1] && decodeName(match[1]) }
  }
  return undefined
}

/** Imports need an owner token, and accept it only as the bearer token. */
export async function serveOwner(
  api: RecordsApi,
  { route, stream }: OwnerRouteMatch,
  arrival: Arrival,
  { maxBytes, admission }: BodyLimits,
  { fail, refuse, sendOutcome }: RecordsReply,
): Promise<void> {
  const { headers, path, query, cancellation } = arrival
  const { authorization, ...otherHeaders } = headers
  const bearer = toBearer(authorization)
  if (bearer === undefined) return refuse('missing')
  if (requestContainsOwnerToken(api.tokenGates, { headers: otherHeaders, path, query }))
    return refuse('owner')
  const destination = findSink(api.tokenGates, bearer)
  if (!destination) return refuseOtherToken(api.tokenGates, bearer, { fail, refuse })
  const parameters = readParameters(query, route)
  if (isFault(parameters)) return fail(400, parameters.code, parameters.fault)
  admission.note(owner.subject)
  const bytes = await arrival.readBytes(maxBytes, owner.subject)
  switch (bytes) {
    case 'too_large':
      return fail(413, 'invalid_request', `The body is larger than ${maxBytes} bytes.`)
    case 'too_slow':
      return fail(408, 'invalid_request', 'The body was not received in time.')
    case 'busy': {
      const details = { retry_after_ms: admission.retryAfter(owner.subject) * 1000 }
      return fail(503, 'rate_limited', 'Too many large requests at once. Try again later.', details)
    }
  }
  const mimeType = headers['content-type'] ?? 'application/octet-stream'
  const { mount, sink } = destination
  sendOutcome(
    await api.run(mount, {
      capability: intakeCapability(mount, route.name),
      caller: owner,
      input: dropUndefined({ stream, query, sha256: hash('sha256', bytes, 'hex') }),
      cancellation,
      async invoke() {
        const answer = await route.write(sink, { parameters, stream, mimeType, bytes })
        return isFailed(answer) ? answer : { kind: 'done', data: answer }
      },
    }),
  )
}

const owner: Caller = Object.freeze({ subject: 'owner', scopes: new Set<string>() })

function findSink(tokenGates: TokenGates, token: string) {
  for (const [mount, tokenGate] of tokenGates) {
    const sink = tokenGate.admitOwner(token)
    if (sink) return { mount, sink }
  }
  return undefined
}

function refuseOtherToken(
  tokenGates: TokenGates,
  token: string,
  { fail, refuse }: Pick<RecordsReply, 'fail' | 'refuse'>,
): void {
  const isGrant = [...tokenGates.values()].some((tokenGate) => !isFault(tokenGate.admit(token)))
  if (!isGrant) return refuse('unknown')
  return fail(403, 'insufficient_scope', 'Imports need an owner token: a grant can only read.')
}
