import { expect, onTestFinished, test } from 'vitest'
import { amount } from '../support/amount.ts'
import { openSession, postLegacy, toLegacyHeaders } from '../support/legacy-request.ts'
import { postModern, toMessages } from '../support/modern-request.ts'
import { RawConnection, type RawResponse, toBytes } from '../support/raw-http.ts'
import { type HttpServer, spawnServer } from '../support/spawn-server.ts'
import { type Era, type HttpMutant, toHttpMutant } from './http-mutant.ts'
import { fuzzSeed } from './random.ts'
import { legacySeeds, toModernSeeds } from './seeds.ts'
import { Verdict } from './verdict.ts'

const total = amount(1_000, 100_000)
const legacyShare = 0.3
/** Every answer is quick, so a missing one counts as lost after this time. */
const answerTimeoutMs = 30_000

test(`${total} mutated requests are all answered, and the server stays healthy`, {
  timeout: 300_000,
}, async () => {
  // A small heap, so that uncollected garbage is not mistaken for a leak.
  const server = await spawnServer('test/fixtures/fuzz', { flags: ['--max-old-space-size=128'] })
  onTestFinished(async () => void (await server.stop()))
  const run = await createRun(server)
  const startedAt = performance.now()

  const memory: number[] = []
  for (let step = 1; step <= 50; step++) {
    await run.to(Math.round((total * step) / 50))
    memory.push(server.residentMegabytes)
  }
  // Medians from the first fifth to the last tenth: single readings are noisy.
  const baselineMegabytes = median(memory.slice(8, 13))
  const riseMegabytes = median(memory.slice(45, 50)) - baselineMegabytes

  const seconds = (performance.now() - startedAt) / 1000
  const { verdict } = run
  console.info(
    `seed ${fuzzSeed}: ${verdict.summary()}; ${seconds.toFixed(1)} s; memory ${baselineMegabytes.toFixed(0)} MB, then ${riseMegabytes.toFixed(0)} MB more`,
  )
  expect(verdict.faults).toEqual([])
  expect(verdict.answered).toBe(total)
  expect(verdict.handled / total).toBeGreaterThanOrEqual(0.3)
  expect(server.alive).toBe(true)
  await expectValidAnswers(server)
  expect(riseMegabytes).toBeLessThanOrEqual(50)
  expect(await server.stop()).toMatchObject({ code: 0 })
})

async function expectValidAnswers({ url }: HttpServer): Promise<void> {
  const call = { name: 'add', arguments: { a: 1, b: 2 } }
  const modern = await postModern(url, 'tools/call', call)
  expect(modern.answer.result).toMatchObject({ structuredContent: { sum: 3 } })
  const legacy = await postLegacy(url, await openSession(url), {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: call,
  })
  expect(legacy.answer.result).toMatchObject({ structuredContent: { sum: 3 } })
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

interface Run {
  readonly verdict: Verdict
  /** Sends mutants up to this total and resolves when all are answered. */
  to(count: number): Promise<void>
}

async function createRun(server: HttpServer): Promise<Run> {
  const verdict = new Verdict()
  const confirmation = await postModern(server.url, 'tools/call', {
    name: 'confirm',
    arguments: { subject: 'it' },
    _meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } },
  })
  const modernSeeds = toModernSeeds(String(confirmation.answer.result?.requestState))
  const nextIndex = { modern: 0, legacy: 0 }
  const nextMutant = (era: Era, limit: number, session?: string): HttpMutant | undefined => {
    const share = Math.round(limit * (era === 'legacy' ? legacyShare : 1 - legacyShare))
    if (nextIndex[era] >= share || !server.alive) return undefined
    // Even indexes are modern and odd ones legacy, so that each index is unique.
    const index = nextIndex[era]++ * 2 + (era === 'legacy' ? 1 : 0)
    const messages = era === 'legacy' ? legacySeeds : modernSeeds
    return toHttpMutant({
      seed: fuzzSeed,
      index,
      era,
      messages,
      ...(session !== undefined && { session }),
    })
  }
  const judge = (mutant: HttpMutant, response: RawResponse) =>
    judgeResponse(verdict, mutant, response)
  return {
    verdict,
    to: async (limit) => {
      const modern = Array.from({ length: 4 }, async () => {
        const lane = new Lane(server, judge, verdict)
        await sendModern(lane, () => nextMutant('modern', limit))
      })
      const legacy = Array.from({ length: 6 }, async () => {
        const lane = new Lane(server, judge, verdict)
        const session = await openSession(server.url)
        await sendOneByOne(lane, () => nextMutant('legacy', limit, session))
        await endSession(server, session)
      })
      await Promise.all([...modern, ...legacy])
    },
  }
}

/** Pipelines eight requests on one connection. */
async function sendModern(lane: Lane, nextMutant: () => HttpMutant | undefined): Promise<void> {
  await Promise.all(Array.from({ length: 8 }, () => sendOneByOne(lane, nextMutant)))
}

async function sendOneByOne(lane: Lane, nextMutant: () => HttpMutant | undefined): Promise<void> {
  for (let mutant = nextMutant(); mutant; mutant = nextMutant()) await lane.send(mutant)
}

/** One keep-alive connection, plus short-lived ones for requests that may close theirs. */
class Lane {
  readonly #server: HttpServer
  readonly #judge: (mutant: HttpMutant, response: RawResponse) => void
  readonly #verdict: Verdict
  #shared: Promise<RawConnection> | undefined

  constructor(
    server: HttpServer,
    judge: (mutant: HttpMutant, response: RawResponse) => void,
    verdict: Verdict,
  ) {
    this.#server = server
    this.#judge = judge
    this.#verdict = verdict
  }

  async send(mutant: HttpMutant): Promise<void> {
    try {
      const response = await withTimeout(
        answerTimeoutMs,
        mutant.alone ? this.#alone(mutant) : this.#on(mutant),
      )
      this.#judge(mutant, response)
      await this.#forget(mutant, response)
    } catch (error) {
      this.#shared = undefined
      this.#verdict.fault((error as Error).message, describe(mutant))
    }
  }

  async #on({ request }: HttpMutant): Promise<RawResponse> {
    this.#shared ??= RawConnection.open(this.#server.port)
    return (await this.#shared).send(toBytes(request))
  }

  async #alone({ request }: HttpMutant): Promise<RawResponse> {
    const connection = await RawConnection.open(this.#server.port)
    try {
      // GET may open a stream without events.
      const until = ['HEAD', 'GET'].includes(request.method ?? 'POST') ? 'head' : 'event'
      return await connection.send(toBytes(request), until)
    } finally {
      connection.close()
    }
  }

  /** Ends sessions opened by mutants, so that they do not use up the session limit. */
  async #forget({ request }: HttpMutant, { headers, status }: RawResponse): Promise<void> {
    const openedSession = headers['mcp-session-id']
    if (status !== 200 || openedSession === undefined) return
    if (!Object.values(request.headers).includes(openedSession))
      await endSession(this.#server, openedSession)
  }
}

function judgeResponse(verdict: Verdict, mutant: HttpMutant, response: RawResponse): void {
  const { status, body } = response
  verdict.answered++
  const method = /"method":"([^"]*)"/.exec(String(mutant.request.body))?.[1]
  const fault = (kind: string) =>
    verdict.fault(`${kind} (${method})`, describe(mutant), `${status} ${body}`)
  if (status >= 500) fault(`HTTP ${status}`)
  try {
    if (body === '' || mutant.request.path === '/health') return
    const faults = toMessages(body).map((message) => verdict.judge(message))
    const first = faults.find((one) => one !== undefined)
    if (first !== undefined) fault(first)
  } catch {
    fault('a body that does not parse')
  }
}

const describe = ({ index, request }: HttpMutant): string =>
  `#${index} ${request.body}\n       ${request.method ?? 'POST'} ${JSON.stringify(request.headers)}`

async function endSession({ url }: HttpServer, session: string): Promise<void> {
  await fetch(url, { method: 'DELETE', headers: toLegacyHeaders(session) })
}

function withTimeout<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('no answer')), timeoutMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
