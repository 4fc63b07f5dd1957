import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { Latch } from './latch.ts'

export interface Bank {
  readonly url: string
  /** By order: how often it was paid. */
  readonly paid: ReadonlyMap<string, number>
  /** From now on payments are made but not answered, until what it returns is called. */
  hold(): () => void
}

/** Where payments arrive: it counts them, and takes its time to answer. */
export async function aBank(delay: () => number): Promise<Bank> {
  let held = Promise.resolve()
  const paid = new Map<string, number>()
  const server = createServer(async (request, response) => {
    const order = (request.url ?? '').replace('/pay/', '')
    paid.set(order, (paid.get(order) ?? 0) + 1)
    await held
    await sleep(delay())
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
    held = latch.opened
    return latch.open
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paid, hold }
}
