import { isPlainObject } from '../json/is-plain-object.ts'

type RequestId = string | number

/**
 * The ids of the requests of one connection that are not answered yet. Two requests with the same id
 * could be given each other's results, and a cancellation could stop the wrong one.
 */
export class IdsInFlight {
  readonly #ids = new Set<RequestId>()

  get size(): number {
    return this.#ids.size
  }

  /** Adds the ids of a message or a batch. Adds none and returns the id when one is in use. */
  begin(body: unknown): RequestId | undefined {
    const ids = toRequestIds(body)
    const added = new Set<RequestId>()
    for (const id of ids) {
      if (this.#ids.has(id) || added.has(id)) return id
      added.add(id)
    }
    for (const id of ids) this.#ids.add(id)
    const cancelledId = toCancelledId(body)
    if (cancelledId !== undefined) this.#ids.delete(cancelledId)
    return undefined
  }

  /** Removes the ids of requests that were refused before they began. */
  forget(body: unknown): void {
    for (const id of toRequestIds(body)) this.#ids.delete(id)
  }

  /** Removes the id that a response answers. */
  end(message: object): void {
    if ('id' in message && !('method' in message)) this.#ids.delete(message.id as RequestId)
  }
}

export const toDuplicateMessage = (id: RequestId): string =>
  `The request id ${JSON.stringify(id).slice(0, 100)} belongs to a request that is still running. Use another id.`

function toRequestIds(body: unknown): readonly RequestId[] {
  if (Array.isArray(body)) return body.flatMap(toRequestIds)
  if (!isPlainObject(body) || typeof body.method !== 'string') return noIds
  return typeof body.id === 'string' || typeof body.id === 'number' ? [body.id] : noIds
}

const noIds: readonly RequestId[] = []

/** A cancelled request gets no response. */
function toCancelledId(body: unknown): RequestId | undefined {
  if (!isPlainObject(body) || body.method !== 'notifications/cancelled') return undefined
  const { params } = body
  return isPlainObject(params) ? (params.requestId as RequestId) : undefined
}
