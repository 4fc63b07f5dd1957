import { hash } from 'node:crypto'
import type { Caller } from '../../capability/caller.ts'
import type { JsonObject } from '../../capability/json.ts'
import { type Failed, isFailed } from '../../capability/outcome.ts'
import { cannotRead } from '../../sources/records/failures.ts'
import type { TokenGate } from '../../sources/records/grants/token-gate.ts'
import {
  ingest,
  intakeCapability,
  keepBlob,
  type RecordSink,
} from '../../sources/records/import/ingest.ts'
import type { Arrival } from '../handler.ts'
import { carriesOwner, toBearer } from './grant-callers.ts'
import { decodeName, type Parameters, readParameters } from './records-parameters.ts'
import type { Answerer, RecordsApi } from './records-routes.ts'

interface OwnerRoute {
  readonly path: RegExp
  readonly name: 'ingest' | 'keep_blob'
  readonly parameters: readonly string[]
  take(sink: RecordSink, parcel: Parcel): Promise<JsonObject | Failed>
}

interface Parcel {
  readonly parameters: Parameters
  /** From the address. */
  readonly stream: string | undefined
  readonly mimeType: string
  readonly bytes: Uint8Array
}

const ownerRoutes: readonly OwnerRoute[] = [
  {
    path: /^\/v1\/ingest\/([^/]+)$/,
    name: 'ingest',
    parameters: ['connector_id'],
    async take(sink, { parameters, stream = '', bytes }) {
      const text = toText(bytes)
      if (text === undefined) return cannotRead('invalid_request', 'The body is no UTF-8.')
      return ingest(sink, toDestination(parameters, stream), text, Date.now)
    },
  },
  {
    path: /^\/v1\/blobs$/,
    name: 'keep_blob',
    parameters: ['connector_id', 'stream', 'record_key'],
    take: (sink, { parameters, mimeType, bytes }) =>
      keepBlob(sink, {
        ...toDestination(parameters, parameters.one('stream') ?? ''),
        key: parameters.one('record_key') ?? '',
        mimeType,
        bytes,
      }),
  },
]

function toText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const toDestination = ({ one }: Parameters, stream: string) => ({
  stream,
  connection: one('connection_id'),
  connector: one('connector_id'),
})

export interface FoundOwnerRoute {
  readonly route: OwnerRoute
  readonly stream: string | undefined
}

export function findOwnerRoute(path: string): FoundOwnerRoute | undefined {
  for (const route of ownerRoutes) {
    const found = route.path.exec(path)
    if (found) return { route, stream: found[1] && decodeName(found[1]) }
  }
  return undefined
}

/** Only an owner's token opens these, only as the bearer, and a grant's never does. */
export async function serveOwner(
  desk: RecordsApi,
  { route, stream }: FoundOwnerRoute,
  arrival: Arrival,
  bodyLimit: number,
  { fail, refuse, outcome }: Answerer,
): Promise<void> {
  const { headers, path, query, cancellation } = arrival
  const { authorization, ...others } = headers
  const bearer = toBearer(authorization)
  if (bearer === undefined) return refuse('missing')
  const doors = [...desk.doors]
  if (carriesOwner([...desk.doors.values()], { headers: others, path, query }))
    return refuse('owner')
  const found = findSink(doors, bearer)
  if (!found) return refuseOthers(doors, bearer, { fail, refuse })
  const parameters = readParameters(query, route)
  if ('fault' in parameters) return fail(400, parameters.code, parameters.fault)
  const bytes = await arrival.readBytes(bodyLimit)
  if (!bytes) return fail(413, 'invalid_request', `The body is larger than ${bodyLimit} bytes.`)
  const mimeType = headers['content-type'] ?? 'application/octet-stream'
  outcome(
    await desk.run(found.mount, {
      capability: intakeCapability(found.mount, route.name),
      caller: owner,
      input: {
        ...(stream !== undefined && { stream }),
        query,
        sha256: hash('sha256', bytes, 'hex'),
      },
      cancellation,
      async invoke() {
        const answer = await route.take(found.sink, { parameters, stream, mimeType, bytes })
        return isFailed(answer) ? answer : { kind: 'done', data: answer }
      },
    }),
  )
}

const owner: Caller = Object.freeze({ subject: 'owner', scopes: new Set<string>() })

function findSink(doors: readonly (readonly [string, TokenGate])[], token: string) {
  for (const [mount, door] of doors) {
    const sink = door.admitOwner(token)
    if (sink) return { mount, sink }
  }
  return undefined
}

function refuseOthers(
  doors: readonly (readonly [string, TokenGate])[],
  token: string,
  { fail, refuse }: Pick<Answerer, 'fail' | 'refuse'>,
): void {
  const isReader = doors.some(([, door]) => 'caller' in door.admit(token))
  if (!isReader) return refuse('unknown')
  return fail(403, 'insufficient_scope', 'Only the owner puts records in: a grant only reads.')
}
