import { expect, test } from 'vitest'
import { serviceSource } from '../../src/index.ts'
import { anAction, aService } from '../support/a-service.ts'
import { amount } from '../support/amount.ts'
import { serveHere } from '../support/serve-here.ts'

const waves = amount(20, 200)

test(`${waves * 50} calls race with the withdrawal of their action: none is executed after it`, async () => {
  const counts = { ran: 0, tooLate: 0, withdrawn: 0, flips: 0 }
  const { service, actions } = aService({ actions: { go: anAction() } })
  let isOffered = true
  const flip = () => {
    isOffered = !isOffered
    counts.flips++
    actions.set(isOffered ? { go: anAction() } : {})
  }
  const execute = async () => {
    if (isOffered) counts.ran++
    else counts.tooLate++
  }
  const { bridge } = await serveHere({
    sources: [serviceSource({ ...service, execute }, { states: 'none' })],
  })
  // Flip synchronously, between microtasks, between event loop turns, and during ledger writes.
  const schedulers = [flip, queueMicrotask, setImmediate, (run: () => void) => setTimeout(run, 1)]
  for (let wave = 0; wave < waves; wave++) {
    const calls = Array.from({ length: 50 }, async (_, index) => {
      for (let wait = index % 7; wait > 0; wait--) await undefined
      if (index % 10 === wave % 10) schedulers[(wave + index) % schedulers.length]?.(flip)
      return bridge.call('go')
    })
    for (const { _meta } of await Promise.all(calls))
      if (JSON.stringify(_meta).includes('action_withdrawn')) counts.withdrawn++
  }

  console.info(`of ${waves * 50} racing calls: ${JSON.stringify(counts)}`)
  expect(counts.tooLate).toBe(0)
  expect(counts.ran + counts.withdrawn).toBe(waves * 50)
  expect(Math.min(counts.ran, counts.withdrawn)).toBeGreaterThan(waves * 2.5)
})
