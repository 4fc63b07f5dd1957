import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server'

/** How many events of a session can be asked for again. */
const most = 256

/** What a 2025 session sent lately, so that a client that lost its stream can have it again. */
export class EventLog implements EventStore {
  readonly #events = new Map<string, { streamId: string; message: JSONRPCMessage }>()
  #next = 0

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const id = String(this.#next++)
    this.#events.set(id, { streamId, message })
    if (this.#events.size > most) this.#events.delete(String(this.#next - most - 1))
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
