import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { canary } from './fixtures/hostile/canary.ts'
import { amount, atMost } from './support/amount.ts'
import { anInitialize, initialized, openSession, postLegacy } from './support/legacy-request.ts'
import { aModernRequest, type Message, postModern } from './support/modern-request.ts'
import {
  type Answer,
  type HttpServer,
  type Process,
  spawnServer,
  spawnStdio,
} from './support/spawn-server.ts'

type Params = Readonly<Record<string, unknown>>

/** A client over any transport. */
interface Client {
  readonly server: Process
  request(method: string, params: Params): Promise<Answer>
  /** Raw text of every response. */
  readonly received: string[]
}

const folder = 'test/fixtures/hostile'

const transports: readonly { readonly transport: string; readonly open: () => Promise<Client> }[] =
  [
    { transport: 'HTTP in 2026', open: openModern },
    { transport: 'a session of 2025', open: openLegacy },
    { transport: 'stdio in 2026', open: () => openStdio('modern') },
    { transport: 'stdio in 2025', open: () => openStdio('legacy') },
  ]

/** Expected failure code per hostile tool; "or" separates permitted alternatives. */
const failures: Readonly<Record<string, string>> = {
  throw_error: 'internal',
  throw_string: 'internal',
  throw_nothing: 'internal',
  throw_disguised: 'internal',
  throw_trap: 'internal',
  reject: 'internal',
  reject_disguised: 'internal',
  throw_in_schema: 'internal',
  throw_in_text: 'internal',
  throw_in_timer: 'timed_out',
  never_settle: 'timed_out',
  reject_too_late: 'timed_out',
  answer_50_mb: 'result_too_large',
  answer_50_mb_string: 'result_too_large',
  answer_50_mb_bytes: 'result_too_large',
  answer_50_mb_content: 'result_too_large',
  answer_50_mb_error: 'result_too_large',
  answer_50_mb_json: 'result_too_large',
  answer_cycle: 'invalid_output',
  answer_sparse: 'result_too_large',
  answer_nan: 'invalid_output',
  answer_promise: 'invalid_output',
  answer_throwing_getter: 'internal or invalid_output',
  answer_throwing_json: 'internal or invalid_output',
  answer_throwing_json_content: 'internal or invalid_output',
  answer_throwing_thenable: 'internal or invalid_output',
  answer_deeply: 'invalid_output',
  break_promise: 'invalid_output',
  ask_nonsense: 'invalid_output',
  ask_cycle: 'invalid_output',
}

describe.each(transports)('over $transport', ({ open }) => {
  let client: Client
  beforeAll(async () => {
    client = await open()
  })
  afterAll(async () => {
    await client.server.stop()
  })

  test.each(Object.entries(failures))(
    '%s fails with %s while another tool answers',
    async (name, codes) => {
      const otherCalls = callSquare(client, 3)
      const answer = await call(client, name)

      expect(answer.result?.isError, JSON.stringify(answer).slice(0, 500)).toBe(true)
      expect(codes.split(' or ')).toContain(failureOf(answer)?.code)
      expect(await otherCalls).toEqual([0, 1, 4])
    },
  )

  test('an orphaned rejection, stdout output and a mutated input affect no other call', async () => {
    const otherCalls = callSquare(client, 20)
    const answers = await Promise.all(
      ['leave_orphan', 'print', 'change_input'].map((name) => call(client, name, { number: 7 })),
    )

    for (const { result } of answers) expect(result).not.toHaveProperty('isError')
    expect(answers[1]?.result).toMatchObject({ structuredContent: { printed: true } })
    expect(await otherCalls).toEqual(Array.from({ length: 20 }, (_, number) => number * number))
  })

  test.each([
    ['resources/read', { uri: 'hostile://view' }],
    ['resources/read', { uri: 'hostile://cycle' }],
    ['prompts/get', { name: 'prompt' }],
    ['prompts/get', { name: 'nonsense' }],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'prompt' }, argument: { name: 'word', value: '' } },
    ],
  ])('a failing %s %o returns an error without its cause', async (method, params) => {
    const { error } = await client.request(method, params)

    expect(error?.code).toBe(-32603)
    expect(error?.message).toMatch(/^Temporarily unavailable\. Reference: [0-9a-f-]{36}\.$/)
  })

  test('concurrent hostile calls affect no other tool, do not end the process and leak no secrets', async () => {
    const quickTools = Object.keys(failures).filter((name) => !name.includes('50_mb'))
    const otherCalls = callSquare(client, amount(50, 200))
    const hostile = await Promise.all(
      Array.from({ length: amount(2, 10) }, () =>
        quickTools.map((name) => call(client, name)),
      ).flat(),
    )

    expect(hostile.filter(({ result }) => result?.isError !== true)).toEqual([])
    expect(await otherCalls).toEqual(
      Array.from({ length: amount(50, 200) }, (_, number) => number * number),
    )
    expect(client.server.alive).toBe(true)
    const leaks = client.received.filter((text) => /canary|postgres|10\.0\.0\.7|\.ts:\d/.test(text))
    expect(leaks.map((text) => text.slice(0, 300))).toEqual([])
    expect(client.server.stderr).toContain(canary)
  })
})

const rounds = amount(50, 1_000)

test(`${rounds * 4} hostile calls do not end the process, each fault is logged once, and other calls stay fast`, async () => {
  const client = await openModern()
  onTestFinished(async () => void (await client.server.stop()))
  const names = ['throw_error', 'throw_in_timer', 'leave_orphan', 'never_settle']

  const [hostile, otherCalls] = await Promise.all([
    inLanes(64, rounds * names.length, (index) =>
      call(client, String(names[index % names.length])),
    ),
    inLanes(2, rounds, async (index) => {
      const startedAt = performance.now()
      const { result } = await call(client, 'square', { number: index })
      return { result, durationMs: performance.now() - startedAt }
    }),
  ])

  const failed = hostile.filter(({ result }) => result?.isError === true)
  expect(failed).toHaveLength(3 * rounds)
  for (const [index, { result }] of otherCalls.entries())
    expect(result).toMatchObject({ structuredContent: { squared: index * index } })
  const times = otherCalls.map(({ durationMs }) => durationMs).sort((a, b) => a - b)
  console.info(`calls of valid tools: median ${times[rounds / 2]?.toFixed(0)} ms`)
  expect(times[rounds / 2]).toBeLessThan(atMost(250))
  expect(client.server.alive).toBe(true)
  await client.server.stop()
  const countLogged = (pattern: RegExp) => client.server.stderr.match(pattern)?.length ?? 0
  expect({
    thrown: countLogged(/"capability":"throw_error"/g),
    strayed: countLogged(/thrown outside of any call/g),
    orphaned: countLogged(/rejected outside of any call/g),
  }).toEqual({ thrown: rounds, strayed: rounds, orphaned: rounds })
})

test('a definition with text or numbers that JSON cannot represent does not block the others', async () => {
  const server = await spawnServer('test/fixtures/odd-text')
  onTestFinished(async () => void (await server.stop()))

  const { answer } = await postModern(server.url, 'tools/call', { name: 'fine' })
  const { text } = await postModern(server.url, 'tools/list')

  expect(answer.result).toMatchObject({ structuredContent: { fine: true } })
  expect(JSON.parse(text)).toHaveProperty('result.tools')
})

const call = (client: Client, name: string, input: Params = {}): Promise<Answer> =>
  client.request('tools/call', { name, arguments: input })

const failureOf = ({ result }: Answer) =>
  (result?._meta as { 'dev.drawbridge/failure'?: { code: string } } | undefined)?.[
    'dev.drawbridge/failure'
  ]

const callSquare = (client: Client, count: number): Promise<unknown[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, number) => {
      const { result } = await call(client, 'square', { number })
      return (result?.structuredContent as { squared: number } | undefined)?.squared ?? result
    }),
  )

/** Runs `work` for the indexes below `count`, with `lanes` in parallel. */
async function inLanes<T>(
  lanes: number,
  count: number,
  work: (index: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const lane = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return results
}

async function openModern(): Promise<Client> {
  const server: HttpServer = await spawnServer(folder)
  const received: string[] = []
  return {
    server,
    received,
    request: async (method, params) => {
      const { text, answer } = await postModern(server.url, method, params)
      received.push(text)
      return answer
    },
  }
}

async function openLegacy(): Promise<Client> {
  const server: HttpServer = await spawnServer(folder)
  const session = await openSession(server.url)
  const received: string[] = []
  let next = 1
  return {
    server,
    received,
    request: async (method, params) => {
      const message: Message = { jsonrpc: '2.0', id: next++, method, params }
      const { text, answer } = await postLegacy(server.url, session, message)
      received.push(text)
      return answer
    },
  }
}

async function openStdio(era: 'modern' | 'legacy'): Promise<Client> {
  const server = spawnStdio(folder)
  const received: string[] = []
  server.onLine((line) => received.push(line))
  if (era === 'legacy') {
    await server.request({ ...anInitialize(), id: 'opening' })
    await server.send(initialized)
  }
  let next = 1
  return {
    server,
    received,
    request: (method, params) => {
      const id = next++
      const message: Message = { jsonrpc: '2.0', id, method, params }
      return server.request(
        era === 'modern' ? aModernRequest(method, params, id) : { ...message, id },
      )
    },
  }
}
