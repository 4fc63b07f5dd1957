import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { toHttpMutant } from '../fuzz/http-mutant.ts'
import { fuzzSeed } from '../fuzz/random.ts'
import { legacySeeds, toModernSeeds } from '../fuzz/seeds.ts'
import { toStdioMutant } from '../fuzz/stdio-mutant.ts'
import { amount } from '../support/amount.ts'
import { postModern } from '../support/modern-request.ts'
import type { RawRequest } from '../support/raw-http.ts'
import { type BothServers, type ComparedServer, openBoth } from './both-servers.ts'
import { Comparison, usedDifferences } from './comparison.ts'
import { documentedDifferences } from './documented-differences.ts'
import { HttpLane } from './http-lane.ts'
import { oddRequests, ownSession, stdioOpenings } from './odd-requests.ts'
import {
  type HttpStep,
  isRequest,
  readRecording,
  recordingsFolder,
  replayHttp,
  replayStdio,
  type StdioStep,
} from './replay.ts'
import type { Reply } from './reply.ts'
import { StdioLane, settle } from './stdio-lane.ts'

const total = amount(400, 100_000)

describe('the fuzz corpus', () => {
  let servers: BothServers
  beforeAll(async () => {
    servers = await openBoth('test/fixtures/fuzz')
  })
  afterAll(() => servers.close())

  test(`${total} mutated requests over HTTP get the answers of the SDK`, {
    timeout: 1_800_000,
  }, async () => {
    const { ours, sdk } = servers
    const states = [await toSealedState(ours), await toSealedState(sdk)] as const
    const lanes = [await HttpLane.open(ours.port), await HttpLane.open(sdk.port)] as const
    onTestFinished(() => {
      for (const lane of lanes) lane.close()
    })
    const comparison = new Comparison()
    const seeds = { modern: toModernSeeds(placeholder.state), legacy: legacySeeds }

    for (let index = 0; index < total; index++) {
      const era = index % 10 < 3 ? 'legacy' : 'modern'
      const mutant = toHttpMutant({
        seed: fuzzSeed,
        index,
        era,
        messages: seeds[era],
        ...(era === 'legacy' && { session: placeholder.session }),
      })
      const [ourReply, sdkReply] = await Promise.all(
        lanes.map((lane, side) =>
          lane.send(fill(mutant.request, lane.session, states[side] ?? ''), mutant.alone),
        ),
      )
      const { method = 'POST', headers, body } = mutant.request
      const sent = `${method} ${JSON.stringify(headers)} ${body}`
      if (ourReply && sdkReply)
        comparison.add({ transport: 'HTTP', era, sent, ours: ourReply, sdk: sdkReply })
    }

    console.info(`${comparison.compared} compared, ${comparison.equalResults} equal results`)
    expect(comparison.faults).toEqual([])
  })

  test.each(['modern', 'legacy'] as const)(
    `${total / 2} mutated lines over stdio get the answers of the SDK (%s)`,
    {
      timeout: 1_800_000,
    },
    async (era) => {
      const { ours, sdk } = servers
      const lanes = [await StdioLane.open(ours, era), await StdioLane.open(sdk, era)] as const
      onTestFinished(() => {
        for (const lane of lanes) lane.close()
      })
      const comparison = new Comparison()
      const messages = era === 'legacy' ? legacySeeds : toModernSeeds(placeholder.state)

      for (let index = 0; index < total / 2; index++) {
        const line = toStdioMutant({ seed: fuzzSeed, index, messages })
        await Promise.all(
          lanes.map((lane) => {
            lane.write(line)
            return lane.mark(era)
          }),
        )
        await settle(...lanes, line.toString())
        const [ourReply, sdkReply] = [lanes[0].take(), lanes[1].take()]
        const sent = line.toString('latin1')
        comparison.add({ transport: 'stdio', era, sent, ours: ourReply, sdk: sdkReply })
      }

      console.info(`${comparison.compared} compared, ${comparison.equalResults} equal results`)
      expect(comparison.faults).toEqual([])
    },
  )
})

describe('recorded sessions of real clients', () => {
  const files = readdirSync(recordingsFolder).filter((file) => file.endsWith('.jsonl'))

  test.each(files)('%s gets the answers of the SDK', async (file) => {
    const { folder, steps } = readRecording<HttpStep & StdioStep>(file)
    const { ours, sdk, close } = await openBoth(folder)
    onTestFinished(close)
    const isStdio = file.endsWith('-stdio.jsonl')
    const replay = (server: ComparedServer) =>
      isStdio ? replayStdio(server, steps) : replayHttp(server, steps)
    const comparison = new Comparison()

    const [ourReplies, sdkReplies] = await Promise.all([replay(ours), replay(sdk)])

    const sentSteps = isStdio
      ? [...steps.filter(({ line }) => isRequest(JSON.parse(line))), 'everything']
      : steps.filter(({ close: closed }) => closed === undefined)
    for (const [index, sent] of sentSteps.entries())
      comparison.add({
        transport: isStdio ? 'stdio' : 'HTTP',
        era: JSON.stringify(sent).includes('2026-07-28') ? 'modern' : 'legacy',
        sent: JSON.stringify(sent),
        ours: ourReplies[index] as Reply,
        sdk: sdkReplies[index] as Reply,
      })
    expect(comparison.faults).toEqual([])
    expect(comparison.equalResults).toBeGreaterThan(sentSteps.length / 4)
  })
})

describe('odd requests', () => {
  let servers: BothServers
  beforeAll(async () => {
    servers = await openBoth('test/fixtures/fuzz')
  })
  afterAll(() => servers.close())

  test.each(Object.entries(oddRequests))('over HTTP: %s', async (_, requests) => {
    const { ours, sdk } = servers
    const lanes = [await HttpLane.open(ours.port), await HttpLane.open(sdk.port)] as const
    onTestFinished(() => {
      for (const lane of lanes) lane.close()
    })
    const comparison = new Comparison()

    for (const request of requests) {
      const [ourReply, sdkReply] = await Promise.all(
        lanes.map((lane) => lane.send(fill(request, lane.session, ''), true)),
      )
      const sent = JSON.stringify(request)
      const era = sent.includes('io.modelcontextprotocol/') ? 'modern' : 'legacy'
      if (ourReply && sdkReply)
        comparison.add({ transport: 'HTTP', era, sent, ours: ourReply, sdk: sdkReply })
    }

    expect(comparison.faults).toEqual([])
    expect(comparison.compared).toBe(requests.length)
  })

  test.each(Object.entries(stdioOpenings))('over stdio, first %s', async (_, lines) => {
    const { ours, sdk } = servers
    const lanes = [await StdioLane.connect(ours), await StdioLane.connect(sdk)] as const
    onTestFinished(() => {
      for (const lane of lanes) lane.close()
    })
    const comparison = new Comparison()

    for (const line of lines) {
      for (const lane of lanes) lane.write(line)
      await settle(...lanes, line)
      const era = lines[0]?.includes('io.modelcontextprotocol/') ? 'modern' : 'legacy'
      const [ourReply, sdkReply] = [lanes[0].take(), lanes[1].take()]
      comparison.add({ transport: 'stdio', era, sent: line, ours: ourReply, sdk: sdkReply })
    }

    expect(comparison.faults).toEqual([])
  })
})

test('every documented difference occurs', () => {
  const unused = documentedDifferences.filter(({ name }) => !usedDifferences.has(name))
  expect(unused.map(({ name }) => name)).toEqual([])
})

/** Stand for what each server chose itself. */
const placeholder = { session: ownSession, state: 'state-of-the-lane-'.repeat(12) }

function fill(request: RawRequest, session: string, state: string): RawRequest {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      value === placeholder.session ? session : value,
    ]),
  )
  return {
    ...request,
    headers,
    ...(request.body !== undefined && {
      body: String(request.body).replaceAll(placeholder.state, state),
    }),
  }
}

async function toSealedState({ port }: ComparedServer): Promise<string> {
  const { answer } = await postModern(`http://127.0.0.1:${port}/mcp`, 'tools/call', {
    name: 'confirm',
    arguments: { subject: 'it' },
    _meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } },
  })
  return String(answer.result?.requestState)
}
