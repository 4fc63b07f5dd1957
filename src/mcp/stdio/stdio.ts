import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { type Caller, localUser } from '../../capability/caller.ts'
import { IdsInFlight, toDuplicateMessage } from '../ids-in-flight.ts'
import { findBadHandshake } from '../legacy/handshake.ts'
import { codes, toErrorMessage } from '../rpc-error.ts'
import { createSdkServer } from '../sdk-server.ts'
import type { Surface } from '../surface.ts'

export interface StdioConnectionOptions {
  readonly input: Readable
  readonly output: Writable
  readonly caller?: Caller
  /** The reason to refuse a message before it is handled, if there is one. */
  readonly refuse?: (message: unknown) => MessageRefusal | undefined
  /** Receives transport errors, for the log. */
  readonly onError: (error: Error) => void
}

export interface MessageRefusal {
  readonly code: string
  readonly message: string
}

/** A client that is served over a pair of streams. */
export interface StdioConnection {
  /** Resolves when the connection ends, with the error that ended it, if any. */
  readonly closed: Promise<Error | undefined>
  /** Ends the connection. */
  close(): Promise<void>
}

/** Batches writes of the same event loop turn into one: a system call per message is the main cost. */
function batchWrites(output: Writable): Writable {
  const write = output.write.bind(output)
  let isCorked = false
  const flush = () => {
    isCorked = false
    output.uncork()
  }
  const writeBatched = (...args: Parameters<Writable['write']>): boolean => {
    if (!isCorked) {
      isCorked = true
      output.cork()
      setImmediate(flush)
    }
    return write(...args)
  }
  output.write = writeBatched as Writable['write']
  return output
}

/** Serves one client on a pair of streams, in the era of its first message. */
export function connectStdio(surface: Surface, options: StdioConnectionOptions): StdioConnection {
  const { input, output, caller = localUser, refuse, onError } = options
  const transport = new StdioServerTransport(input, batchWrites(output))
  let fatalError: Error | undefined
  let settle: (reason: Error | undefined) => void
  const closed = new Promise<Error | undefined>((resolve) => {
    settle = resolve
  })
  const handle = serveStdio(({ era }) => createSdkServer(surface, era, caller), {
    transport,
    onerror: (error) => {
      // The SDK stops reading after a line that exceeds its buffer; other errors are not fatal.
      if (/buffer/i.test(error.message) && /exceed|size/i.test(error.message)) fatalError = error
      onError(error)
    },
  })
  const ids = new IdsInFlight()
  const send = transport.send.bind(transport)
  transport.send = (message) => send(message).finally(() => ids.end(message))
  const deliver = transport.onmessage
  transport.onmessage = (message) => {
    const refusal = refuse?.(message)
    const error = refusal
      ? toRefusal(message, refusal)
      : (findBadHandshake(message) ?? findDuplicate(ids, message))
    if (error) send(error).catch(onError)
    // A refused notification is dropped: JSON-RPC has no response to it.
    else if (!refusal) deliver?.(message)
  }
  const onclose = transport.onclose
  transport.onclose = () => {
    onclose?.()
    settle(fatalError)
  }
  return { closed, close: () => handle.close() }
}

function findDuplicate(ids: IdsInFlight, message: JSONRPCMessage) {
  const id = ids.begin(message)
  if (id === undefined) return undefined
  return toErrorMessage({ code: codes.invalidRequest, message: toDuplicateMessage(id) }, id)
}

function toRefusal(message: JSONRPCMessage, { code, message: text }: MessageRefusal) {
  if (!('id' in message) || !('method' in message)) return undefined
  return toErrorMessage({ code: codes.refused, message: text, data: { code } }, message.id)
}
