import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { amount, atMost } from '../support/amount.ts'
import { anInitialize, initialized } from '../support/legacy-request.ts'
import { aModernRequest, type Message } from '../support/modern-request.ts'
import { type Answer, type StdioServer, spawnStdio } from '../support/spawn-server.ts'
import { fuzzSeed } from './random.ts'
import { legacySeeds, toModernSeeds } from './seeds.ts'
import { toStdioMutant } from './stdio-mutant.ts'
import { Verdict } from './verdict.ts'

const total = amount(400, 50_000)
const invalidLineCount = amount(1_000, 10_000)

type Request = Message & { readonly id: string | number }

interface Era {
  readonly name: string
  /** Sends the messages that fix the protocol version of the connection. */
  open(server: StdioServer): Promise<unknown>
  toRequest(method: string, params: Readonly<Record<string, unknown>>, id: string): Request
  readonly seeds: readonly object[]
}

const eras: readonly Era[] = [
  {
    name: '2026',
    open: (server) => server.request(aModernRequest('tools/list', {}, 'opening')),
    toRequest: aModernRequest,
    seeds: toModernSeeds('eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..a.b.c'),
  },
  {
    name: '2025',
    open: async (server) => {
      await server.request(anInitialize('opening') as Request)
      await server.send(initialized)
    },
    toRequest: (method, params, id) => ({ jsonrpc: '2.0', id, method, params }),
    seeds: legacySeeds,
  },
]

describe.each(eras)('over stdio in $name', (era) => {
  test(`${total} mutated lines are answered with valid JSON-RPC only`, {
    timeout: 300_000,
  }, async () => {
    const server = start('test/fixtures/fuzz')
    const verdict = new Verdict()
    server.onLine((line) => judgeLine(verdict, line, era))
    await era.open(server)
    const startedAt = performance.now()

    for (let index = 0; index < total && server.alive; index++)
      await server.write(toStdioMutant({ seed: fuzzSeed, index, messages: era.seeds }))
    await server.write('\n')
    const last = await server.request(anAddition(era, 'last'))

    const seconds = (performance.now() - startedAt) / 1000
    console.info(`seed ${fuzzSeed}: ${verdict.summary()}; ${seconds.toFixed(1)} s`)
    expect(verdict.faults).toEqual([])
    expect(last.result).toMatchObject({ structuredContent: { sum: 3 } })
    expect(verdict.handled / total).toBeGreaterThanOrEqual(0.3)
    server.closeInput()
    expect(await server.ended).toEqual({ code: 0, signal: null })
  })

  test('a line above 10 MiB gets an error or ends the process with a reason', async () => {
    const server = start('test/fixtures/fuzz')
    const lines: string[] = []
    server.onLine((line) => lines.push(line))
    await era.open(server)

    const text = 'x'.repeat(12 * 1024 * 1024)
    const call = era.toRequest('tools/call', { name: 'echo', arguments: { text } }, 'large')
    const answer = await server.request(call).catch(() => undefined)

    if (answer) {
      expect(answer.error).toBeDefined()
      expect(await server.request(anAddition(era, 'after'))).toHaveProperty('result')
    } else {
      expect((await server.ended).code).toBeGreaterThan(0)
      expect(server.stderr).toMatch(/10485760|10 MiB|maximum size/)
    }
    expect(lines.map(toAnswer)).not.toContain(undefined)
  })

  test('an endless line is rejected before it fills the memory', async () => {
    const server = start('test/fixtures/fuzz')
    await era.open(server)
    const chunk = 'x'.repeat(1024 * 1024)

    for (let megabyte = 0; megabyte < 64 && server.alive; megabyte++) await server.write(chunk)

    if (server.alive) expect(server.residentMegabytes).toBeLessThan(256)
    else expect((await server.ended).code).toBeGreaterThan(0)
  })

  /** Survives the first of the next two tests, and exits in the second. */
  let shared: StdioServer
  beforeAll(async () => {
    shared = spawnStdio('test/fixtures/fuzz')
    await era.open(shared)
  })
  afterAll(() => shared.stop())

  test('deep nesting is answered, and so is the next call', async () => {
    const server = shared

    for (const depth of [100, 1000, 5000, 200_000]) {
      const id = `deep ${depth}`
      const call = era.toRequest('tools/call', { name: 'echo', arguments: { value: '@' } }, id)
      const nextAnswer = server.request({ ...call, id: `after ${depth}` })
      const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`
      const line = JSON.stringify(call).replace('"@"', nested)
      const answer = new Promise<Answer>((resolve) => {
        server.onLine((text) => {
          const message = toAnswer(text)
          if (message?.id === id) resolve(message)
        })
      })
      await server.write(`${line}\n`)
      const { result, error } = await answer

      expect(error?.code ?? 0, `depth ${depth}: ${error?.message}`).not.toBe(-32603)
      if (depth > 100) expect(error ?? result?.isError, `depth ${depth}`).toBeTruthy()
      expect((await nextAnswer).result).not.toHaveProperty('isError')
    }
  })

  test(`${invalidLineCount} invalid lines do not delay the exit`, async () => {
    const server = shared
    for (let line = 0; line < invalidLineCount; line++)
      await server.write('{"jsonrpc":"2.0","id":{}}\n')
    await server.request(anAddition(era, 'last'))

    const startedAt = performance.now()
    server.closeInput()
    const { code } = await server.ended

    expect(code).toBe(0)
    expect(performance.now() - startedAt).toBeLessThan(atMost(5000))
  })

  test('tools that print while loading and running do not corrupt stdout', async () => {
    const server = start('test/fixtures/noisy')
    const lines: string[] = []
    server.onLine((line) => lines.push(line))
    await era.open(server)

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        server.request(era.toRequest('tools/call', { name: 'shout', arguments: {} }, `${index}`)),
      ),
    )
    const plain = await server.request(
      era.toRequest('tools/call', { name: 'shout_plainly', arguments: {} }, 'plain'),
    )
    // The tool prints once more after its answer; this call ends later than that.
    const waitAnswer = await server.request(
      era.toRequest('tools/call', { name: 'wait', arguments: {} }, 'after'),
    )

    for (const { result } of [...answers, plain, waitAnswer])
      expect(result).toMatchObject({ structuredContent: { shouted: true } })
    expect(lines.filter((line) => toAnswer(line)?.jsonrpc !== '2.0')).toEqual([])
    expect(server.stderr).toContain('loading: console.log')
    expect(server.stderr).toContain('calling: process.stdout.write')
    expect(server.stderr).toContain('later: console.log')
  })
})

function start(folder: string): StdioServer {
  const server = spawnStdio(folder)
  onTestFinished(async () => void (await server.stop()))
  return server
}

const anAddition = (era: Era, id: string): Request =>
  era.toRequest('tools/call', { name: 'add', arguments: { a: 1, b: 2 } }, id)

function judgeLine(verdict: Verdict, line: string, { seeds }: Era): void {
  verdict.answered++
  const answer = toAnswer(line)
  const fault = answer ? verdict.judge(answer) : 'a line that does not parse'
  if (fault === undefined) return
  const index = Number.isInteger(answer?.id) ? Number(answer?.id) : -1
  const sentText =
    index < 0 || index >= total
      ? `unknown, for its id is ${JSON.stringify(answer?.id)}`
      : toStdioMutant({ seed: fuzzSeed, index, messages: seeds }).toString('latin1')
  const method = /"method":"([^"]*)"/.exec(sentText)?.[1]
  verdict.fault(`${fault} (${method})`, `#${index} ${sentText}`, line)
}

function toAnswer(line: string): Answer | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
