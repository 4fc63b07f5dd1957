import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server'

const maxEvents = 256

interface StoredEvent {
  readonly streamId: string
  readonly message: JSONRPCMessage
  readonly size: number
}

/** The last events of a 2025 session, replayed to a client that reconnects with `Last-Event-ID`. */
export class EventLog implements EventStore {
  readonly #maxCharacters: () => number
  readonly #events = new Map<string, StoredEvent>()
  #next = 0
  #size = 0

  constructor(maxCharacters: () => number) {
    this.#maxCharacters = maxCharacters
  }

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const id = String(this.#next++)
    const size = estimateSize(message)
    this.#events.set(id, { streamId, message, size })
    this.#size += size
    const maxCharacters = this.#maxCharacters()
    for (const [oldest, event] of this.#events) {
      if (this.#events.size <= maxEvents && this.#size <= maxCharacters) break
      this.#events.delete(oldest)
      this.#size -= event.size
    }
    return id
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.get(id)?.streamId
  }

  async replayEventsAfter(
    lastId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const streamId = this.#events.get(lastId)?.streamId ?? ''
    for (const [id, event] of this.#events)
      if (event.streamId === streamId && Number(id) > Number(lastId) && 'jsonrpc' in event.message)
        await send(id, event.message)
    return streamId
  }
}

/** The approximate number of characters; only strings can be long. */
function estimateSize(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let size = 16
  for (const key in value)
    size += key.length + estimateSize((value as Record<string, unknown>)[key])
  return size
}
