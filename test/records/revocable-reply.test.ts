import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { RevocableReply } from '../../src/http/records/revocable-reply.ts'
import type { EventStream, HttpReply } from '../../src/mcp/http-port.ts'
import { eventually } from '../support/eventually.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

function aReply(isWelcome: () => boolean) {
  const piped: Response[] = []
  const end = vi.fn()
  const stream = { end, onClose: () => {} } as unknown as EventStream
  const reply = { stream: () => stream, pipe: (one: Response) => void piped.push(one) }
  const given = reply as unknown as HttpReply
  return { piped, end, welcome: new RevocableReply(given, isWelcome, new Cancellation()) }
}

test('a store that cannot say who is welcome ends what it was asked for, and nothing else', () => {
  const { end, welcome } = aReply(() => {
    throw new Error('The database is not open.')
  })

  welcome.stream()
  vi.advanceTimersByTime(1000)

  expect(end).toHaveBeenCalledOnce()
  expect(vi.getTimerCount()).toBe(0)
})

test.each<[string, (body: ReadableStreamDefaultController) => void]>([
  ['ends', (body) => body.close()],
  ['fails', (body) => body.error(new Error('gone'))],
])('nobody looks on after an answer that %s', async (_, finish) => {
  const { piped, welcome } = aReply(() => true)
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('data: 1\n\n'))
      finish(controller)
    },
  })

  welcome.pipe(new Response(body))
  await piped[0]?.text().catch(() => {})

  await eventually(() => expect(vi.getTimerCount()).toBe(0))
})

test('who leaves while listening is not looked for, and who is not welcome any more hears no more', async () => {
  let isWelcome = true
  const { piped, welcome } = aReply(() => isWelcome)
  const cancelled = vi.fn()

  welcome.pipe(new Response(new ReadableStream({ cancel: cancelled })))
  welcome.pipe(new Response(new ReadableStream({ cancel: cancelled })))
  await piped[0]?.body?.cancel()
  const heard = piped[1]?.text().catch((error: Error) => error.name)
  isWelcome = false
  vi.advanceTimersByTime(1000)

  expect(await heard).toBe('AbortError')
  await eventually(() => expect(cancelled).toHaveBeenCalledTimes(2))
  expect(vi.getTimerCount()).toBe(0)
})
