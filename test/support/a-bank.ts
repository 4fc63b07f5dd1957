import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { Latch } from './latch.ts'

export interface Bank {
  readonly url: string
  /** Number of payments by order. */
  readonly paid: ReadonlyMap<string, number>
  /** Delays the answers of payments, which are still made, until the returned function is called. */
  hold(): () => void
}

/** An HTTP service that counts payments, and answers after a delay. */
export async function aBank(delayMs: () => number): Promise<Bank> {
  let gate = Promise.resolve()
  const paid = new Map<string, number>()
  const server = createServer(async (request, response) => {
    const order = (request.url ?? '').replace('/pay/', '')
    paid.set(order, (paid.get(order) ?? 0) + 1)
    await gate
    await sleep(delayMs())
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ order, receipt: `${order} was paid ${paid.get(order)} times` }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const hold = () => {
    const latch = new Latch()
    gate = latch.opened
    return latch.open
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paid, hold }
}
