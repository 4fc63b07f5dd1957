import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { RevocableReply } from '../../src/http/records/revocable-reply.ts'
import type { EventStream, HttpReply } from '../../src/mcp/http-port.ts'
import { eventually } from '../support/eventually.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

function aReply(isAuthorized: () => boolean) {
  const responses: Response[] = []
  const end = vi.fn()
  const stream = { end, onClose: () => {} } as unknown as EventStream
  const reply = { stream: () => stream, pipe: (one: Response) => void responses.push(one) }
  const httpReply = reply as unknown as HttpReply
  return {
    responses,
    end,
    revocable: new RevocableReply(httpReply, isAuthorized, new Cancellation()),
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

test.each<[string, (body: ReadableStreamDefaultController) => void]>([
  ['ends', (body) => body.close()],
  ['fails', (body) => body.error(new Error('gone'))],
])('polling stops after a response body that %s', async (_, finish) => {
  const { responses, revocable } = aReply(() => true)
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('data: 1\n\n'))
      finish(controller)
    },
  })

  revocable.pipe(new Response(body))
  await responses[0]?.text().catch(() => {})

  await eventually(() => expect(vi.getTimerCount()).toBe(0))
})

test('polling stops when the client disconnects, and the stream is aborted when authorization ends', async () => {
  let isAuthorized = true
  const { responses, revocable } = aReply(() => isAuthorized)
  const onCancel = vi.fn()

  revocable.pipe(new Response(new ReadableStream({ cancel: onCancel })))
  revocable.pipe(new Response(new ReadableStream({ cancel: onCancel })))
  await responses[0]?.body?.cancel()
  const abortName = responses[1]?.text().catch((error: Error) => error.name)
  isAuthorized = false
  vi.advanceTimersByTime(1000)

  expect(await abortName).toBe('AbortError')
  await eventually(() => expect(onCancel).toHaveBeenCalledTimes(2))
  expect(vi.getTimerCount()).toBe(0)
})
