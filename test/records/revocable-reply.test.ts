import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { RevocableReply } from '../../src/http/records/revocable-reply.ts'
import type { EventStream, HttpReply } from '../../src/mcp/http-port.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

function aReply(isAuthorized: () => boolean) {
  const end = vi.fn()
  const closeListeners: (() => void)[] = []
  const stream = { end, onClose: (listener: () => void) => void closeListeners.push(listener) }
  const reply = { stream: () => stream as unknown as EventStream } as unknown as HttpReply
  const cancellation = new Cancellation()
  return {
    end,
    cancellation,
    closeStream: () => closeListeners[0]?.(),
    revocable: new RevocableReply(reply, isAuthorized, cancellation),
  }
}

test('a failing authorization check ends the stream and its timer', () => {
  const { end, revocable } = aReply(() => {
    throw new Error('The database is not open.')
  })

  revocable.stream()
  vi.advanceTimersByTime(1000)

  expect(end).toHaveBeenCalledOnce()
  expect(vi.getTimerCount()).toBe(0)
})

test('polling stops when the stream is closed, and when the client disconnects', () => {
  const { closeStream, cancellation, revocable } = aReply(() => true)

  revocable.stream()
  revocable.stream()
  expect(vi.getTimerCount()).toBe(2)
  closeStream()
  expect(vi.getTimerCount()).toBe(1)
  cancellation.cancel('The client disconnected.')

  expect(vi.getTimerCount()).toBe(0)
})

test('the stream ends when authorization does', () => {
  let isAuthorized = true
  const { end, revocable } = aReply(() => isAuthorized)

  revocable.stream()
  vi.advanceTimersByTime(1000)
  expect(end).not.toHaveBeenCalled()
  isAuthorized = false
  vi.advanceTimersByTime(1000)

  expect(end).toHaveBeenCalledOnce()
})
