import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

export interface Bank {
  readonly url: string
  /** By order: how often it was paid. */
  readonly paid: ReadonlyMap<string, number>
}

/** Where payments arrive: it counts them, and takes its time to answer. */
export async function aBank(delay: () => number): Promise<Bank> {
  const paid = new Map<string, number>()
  const server = createServer(async (request, response) => {
    const order = (request.url ?? '').replace('/pay/', '')
    paid.set(order, (paid.get(order) ?? 0) + 1)
    await sleep(delay())
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ order, receipt: `${order} was paid ${paid.get(order)} times` }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paid }
}
