import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server'

/** How many events of a session can be asked for again, and how many characters of them. */
const most = 256
const largest = 1024 * 1024

interface Kept {
  readonly streamId: string
  readonly message: JSONRPCMessage
  readonly size: number
}

/** What a 2025 session sent lately, so that a client that lost its stream can have it again. */
export class EventLog implements EventStore {
  readonly #events = new Map<string, Kept>()
  #next = 0
  #size = 0

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const id = String(this.#next++)
    const size = sizeOf(message)
    this.#events.set(id, { streamId, message, size })
    this.#size += size
    for (const [oldest, event] of this.#events) {
      if (this.#events.size <= most && this.#size <= largest) break
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

/** About how many characters: only strings can be long. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let size = 16
  for (const key in value) size += key.length + sizeOf((value as Record<string, unknown>)[key])
  return size
}
