import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { type Caller, localUser } from '../../capability/caller.ts'
import { findBadHandshake } from '../legacy/handshake.ts'
import { codes, toErrorMessage } from '../rpc-error.ts'
import { createSdkServer } from '../sdk-server.ts'
import type { Surface } from '../surface.ts'

export interface StdioOptions {
  readonly input: Readable
  readonly output: Writable
  readonly caller?: Caller
  /** Why a message is not even looked at, whatever it asks for. */
  readonly refuse?: (message: unknown) => MessageRefusal | undefined
  /** Out-of-band trouble, for the log. */
  readonly onError: (error: Error) => void
}

export interface MessageRefusal {
  readonly code: string
  readonly message: string
}

export interface StdioConnection {
  /** Settles when the client has left; says what ended it, if it was not the client. */
  readonly closed: Promise<Error | undefined>
  close(): Promise<void>
}

/** Answers that are ready together go out together: a write for each costs more than the rest. */
function gatherWrites(output: Writable): Writable {
  const write = output.write.bind(output)
  let gathering = false
  const flush = () => {
    gathering = false
    output.uncork()
  }
  const gather = (...words: Parameters<Writable['write']>): boolean => {
    if (!gathering) {
      gathering = true
      output.cork()
      setImmediate(flush)
    }
    return write(...words)
  }
  output.write = gather as Writable['write']
  return output
}

/** One client on a pair of streams, in whichever era it opens with. */
export function connectStdio(surface: Surface, options: StdioOptions): StdioConnection {
  const { input, output, caller = localUser, refuse, onError } = options
  const transport = new StdioServerTransport(input, gatherWrites(output))
  let fatal: Error | undefined
  let settle: (reason: Error | undefined) => void
  const closed = new Promise<Error | undefined>((resolve) => {
    settle = resolve
  })
  const handle = serveStdio(({ era }) => createSdkServer(surface, era, caller), {
    transport,
    onerror: (error) => {
      // The SDK stops reading at a line it cannot hold; everything else it gets over.
      if (/buffer/i.test(error.message) && /exceed|size/i.test(error.message)) fatal = error
      onError(error)
    },
  })
  const deliver = transport.onmessage
  transport.onmessage = (message) => {
    const unwanted = refuse?.(message)
    const refusal = unwanted ? toRefusal(message, unwanted) : findBadHandshake(message)
    if (refusal) transport.send(refusal).catch(onError)
    // Whoever expects no answer gets none.
    else if (!unwanted) deliver?.(message)
  }
  const onclose = transport.onclose
  transport.onclose = () => {
    onclose?.()
    settle(fatal)
  }
  return { closed, close: () => handle.close() }
}

function toRefusal(message: JSONRPCMessage, { code, message: text }: MessageRefusal) {
  if (!('id' in message) || !('method' in message)) return undefined
  return toErrorMessage({ code: codes.refused, message: text, data: { code } }, message.id)
}
