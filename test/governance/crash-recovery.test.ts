import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { resultMeta } from '../../src/mcp/wire-names.ts'
import { createRandom } from '../fuzz/random.ts'
import { aBank, type Bank } from '../support/a-bank.ts'
import { aProject } from '../support/a-project.ts'
import { amount } from '../support/amount.ts'
import { aLedger } from '../support/builders.ts'
import { until } from '../support/eventually.ts'
import { aModernRequest, postMessage, toModernHeaders } from '../support/modern-request.ts'
import { startDrawbridge } from '../support/run-cli.ts'
import { repository } from '../support/spawn-server.ts'

const kills = amount(6, 300)
const lanes = 3

test('a server killed with SIGKILL never pays twice, replays acknowledged payments and reports unknown outcomes', {
  timeout: 60_000 + kills * 5_000,
}, async () => {
  // Fixed seed: the same sequence in every run, though timing still varies.
  const random = createRandom(20260728).below
  const folder = await aProject({})

  const counts = await Promise.all(
    Array.from({ length: lanes }, async (_, index) => {
      const bank = await aBank(() => random(20))
      const shop = new Shop(bank, path.join(folder, `${index}.db`), `lane${index}`, random)
      for (let round = 0; round < kills / lanes; round++)
        await shop.openAndKill(moments[(index + round) % moments.length] as Moment)
      return shop.reconcile()
    }),
  )

  const sum = (name: keyof Totals) => counts.reduce((total, count) => total + count[name], 0)
  console.info(
    `kill -9: ${sum('kills')} times, ${sum('orders')} orders, ${sum('acknowledged')} acknowledged, ${sum('repeated')} repeated, ${sum('unknown')} unknown (${sum('unknownAndPaid')} of them paid), ${sum('paidTwice')} paid twice`,
  )
  expect(sum('paidTwice')).toBe(0)
  expect(sum('kills')).toBeGreaterThanOrEqual(kills)
  expect(sum('acknowledged')).toBeGreaterThan(0)
  expect(sum('unknown')).toBeGreaterThan(0)
  expect(sum('repeated')).toBeGreaterThan(0)
})

/** Moment of the kill: during startup, after an unrecorded payment, or after an answer. */
const moments = ['starting', 'paid', 'answered'] as const
type Moment = (typeof moments)[number]

interface Totals {
  readonly kills: number
  readonly orders: number
  readonly acknowledged: number
  readonly repeated: number
  readonly unknown: number
  readonly unknownAndPaid: number
  readonly paidTwice: number
}

/** One store used by successive servers, with every answer recorded per order. */
class Shop {
  readonly #bank: Bank
  readonly #store: string
  readonly #name: string
  readonly #random: (bound: number) => number
  readonly #orders: string[] = []
  readonly #acknowledged = new Map<string, string>()
  /** Orders whose payment was answered by the call that made it. */
  readonly #executed = new Set<string>()
  readonly #unknown = new Set<string>()
  #kills = 0
  #repeated = 0
  #starting = 500

  constructor(bank: Bank, store: string, name: string, random: (bound: number) => number) {
    this.#bank = bank
    this.#store = store
    this.#name = name
    this.#random = random
  }

  async openAndKill(moment: Moment): Promise<void> {
    const startedAt = performance.now()
    const server = this.#start()
    const kill = async () => {
      server.process.kill('SIGKILL')
      this.#kills++
      await server.exited
    }
    if (moment === 'starting') {
      await sleep(this.#random(this.#starting))
      return kill()
    }
    const url = await this.#url(server)
    this.#starting = performance.now() - startedAt
    const release = moment === 'paid' ? this.#bank.hold() : () => {}
    const newOrders = Array.from({ length: 10 }, () => `${this.#name}-${this.#random(1e9)}`)
    this.#orders.push(...newOrders)
    const anyOrder = () => this.#orders[this.#random(this.#orders.length)] as string
    const calls = [
      ...newOrders,
      ...newOrders.slice(0, 4),
      anyOrder(),
      anyOrder(),
      anyOrder(),
      anyOrder(),
    ].map(async (order) => {
      await sleep(this.#random(30))
      await this.#pay(url, order)
    })
    const { paid } = this.#bank
    const payments = paid.size + this.#random(5)
    const done = this.#acknowledged.size + this.#random(5)
    await until(() => (moment === 'paid' ? paid.size > payments : this.#acknowledged.size > done))
    await sleep(this.#random(25))
    await kill()
    release()
    await Promise.all(calls)
  }

  /** Asks a final server about every order and compares with the bank. */
  async reconcile(): Promise<Totals> {
    const server = this.#start()
    const url = await this.#url(server)
    for (let offset = 0; offset < this.#orders.length; offset += 20) {
      const verdicts = await Promise.all(
        this.#orders.slice(offset, offset + 20).map((order) => this.#pay(url, order)),
      )
      expect(verdicts.filter((one) => one !== 'done' && one !== 'outcome_unknown')).toEqual([])
    }
    server.process.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    const ledger = aLedger(this.#store, Date.now, () => false)
    expect(ledger.audit.verify().broken).toBeUndefined()
    expect(ledger.read.runs('running', 10)).toEqual([])
    expect(ledger.read.runs('unknown', 100_000)).toHaveLength(this.#unknown.size)
    await ledger.close()
    const times = (order: string) => this.#bank.paid.get(order) ?? 0
    for (const order of this.#acknowledged.keys()) expect([order, times(order)]).toEqual([order, 1])
    return {
      kills: this.#kills,
      orders: this.#orders.length,
      acknowledged: this.#acknowledged.size,
      repeated: this.#repeated,
      unknown: this.#unknown.size,
      unknownAndPaid: [...this.#unknown].filter((order) => times(order) === 1).length,
      paidTwice: this.#orders.filter((order) => times(order) > 1).length,
    }
  }

  #start() {
    const fixture = path.join(repository, 'test/fixtures/paying')
    const env = { PAYING_STORE: this.#store, PAYING_BANK: this.#bank.url, NODE_ENV: 'production' }
    return startDrawbridge(['serve', fixture, '--port', '0'], { env })
  }

  async #url(server: ReturnType<typeof startDrawbridge>): Promise<string> {
    const [, url = ''] = await server.waitForOutput(/(http:\/\/\S+\/mcp)\b/)
    return url
  }

  /** Returns the result code, or `nothing` when the server was killed first. */
  async #pay(url: string, order: string): Promise<string> {
    const message = aModernRequest('tools/call', {
      name: 'pay',
      arguments: { order, idempotency_key: `key of ${order}` },
    })
    const answer = await postMessage(url, message, toModernHeaders(message)).catch(() => undefined)
    const result = answer?.answer.result
    if (!result) return 'nothing'
    const { [resultMeta.replayed]: replayed, ...meta } = result._meta as Record<string, unknown>
    const failure = meta[resultMeta.failure] as { code: string } | undefined
    const word = failure?.code ?? 'done'
    switch (word) {
      case 'done': {
        const text = JSON.stringify({ ...result, _meta: meta })
        expect(this.#unknown).not.toContain(order)
        const acknowledgedText = this.#acknowledged.get(order) ?? text
        this.#acknowledged.set(order, acknowledgedText)
        expect(text).toBe(acknowledgedText)
        // In any order: a repeat that waits for the same flush may be answered first.
        if (replayed === undefined) {
          expect(this.#executed).not.toContain(order)
          this.#executed.add(order)
        } else this.#repeated++
        return word
      }
      case 'outcome_unknown':
        expect([...this.#acknowledged.keys()]).not.toContain(order)
        this.#unknown.add(order)
        return word
      case 'in_progress':
        return word
      default:
        throw new Error(`${order}: ${JSON.stringify(result)}`)
    }
  }
}
