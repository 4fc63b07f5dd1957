import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { fixtures, productOf } from './paths.mjs'
import {
  findFreePort,
  readLine,
  startProcess,
  stopProcess,
  waitUntilListening,
} from './processes.mjs'
import { clearFixtures } from './projects.mjs'

/**
 * One caller floods the server, another one sends calls at a steady rate: the p99 of its latency may be
 * at most twice the undisturbed value. Quiet and disturbed rounds alternate, so that other load on the
 * machine affects both, and the median of the rounds counts. `--product FILE` measures another build.
 */
const { values: options } = parseArgs({
  options: {
    attack: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '5' },
    product: { type: 'string', default: productOf() },
    'no-gate': { type: 'boolean', default: false },
  },
})
const allAttacks = 'bodies values medium trickle calls streams sessions regexes approvals'.split(
  ' ',
)
const attacks = options.attack ?? allAttacks
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
const maxRatio = 2

/** Calls per second and bytes of each. */
const streams = { small: { rate: 40, bytes: 16 }, large: { rate: 4, bytes: 256 * 1024 } }

const main = async () => {
  clearFixtures()
  console.log(
    '| attack | small: p99 quiet | flooded | ratio | large: p99 quiet | flooded | ratio |',
  )
  console.log('|---|---|---|---|---|---|---|')
  let isMet = true
  for (const attack of attacks) {
    const { quiet, flooded, counts } = await measure(attack)
    const cells = []
    for (const kind of Object.keys(streams)) {
      const [before, during] = [quiet, flooded].map((rounds) =>
        median(rounds.map((round) => p99(round[kind]))),
      )
      if (during > before * maxRatio) isMet = false
      cells.push(`${before.toFixed(1)} ms`, `${during.toFixed(1)} ms`, (during / before).toFixed(2))
    }
    console.log(`| ${attack} | ${cells.join(' | ')} |`)
    console.error(`${attack}: the flood was answered with ${JSON.stringify(counts)}`)
  }
  process.exit(isMet || options['no-gate'] ? 0 : 1)
}

const measure = async (attack) => {
  const port = await findFreePort()
  const server = startProcess(
    [options.product, 'serve', toFixture(attack), '--port', port],
    'ignore',
  )
  await waitUntilListening(server, port)
  await observe(port, 2)
  const quiet = []
  const flooded = []
  const counts = {}
  for (let round = 0; round < rounds; round++) {
    quiet.push(await observe(port, seconds))
    const flood = startFlood(attack, port)
    await flood.started
    // Long enough for the flood to reach its limits.
    await sleep(2000)
    flooded.push(await observe(port, seconds))
    for (const [status, count] of Object.entries(await flood.stop()))
      counts[status] = (counts[status] ?? 0) + count
    await sleep(500)
  }
  await stopProcess(server)
  return { quiet, flooded, counts }
}

const startFlood = (attack, port) => {
  const file = fileURLToPath(new URL('flood.mjs', import.meta.url))
  const child = startProcess([file, attack, port, tokens.flooder], 'pipe')
  const started = readLine(child)
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  return {
    started,
    stop: async () => {
      await stopProcess(child)
      return JSON.parse(text.split('\n')[1] || '{}')
    },
  }
}

/** A refused call of the victim counts as this latency. */
const refusedMs = 30_000

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** Open loop: a latency counts from the time at which the call was due (coordinated omission). */
const observe = async (port, duration) => {
  const latencies = { small: [], large: [] }
  const pending = []
  const startedAt = performance.now()
  const drive = async (kind, { rate, bytes }) => {
    const body = toBody('x'.repeat(bytes))
    for (let index = 0; index < duration * rate; index++) {
      const due = startedAt + ((index + 0.5) * 1000) / rate
      await sleep(Math.max(0, due - performance.now()))
      const record = (isAnswered) =>
        latencies[kind].push(isAnswered ? performance.now() - due : refusedMs)
      pending.push(send(port, body).then(record))
    }
  }
  await Promise.all(Object.entries(streams).map(([kind, stream]) => drive(kind, stream)))
  await Promise.all(pending)
  return latencies
}

const toBody = (text) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'echo',
      arguments: { text },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  })

const send = (port, body) =>
  new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${tokens.victim}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
    }
    const options = { agent, port, host: '127.0.0.1', path: '/mcp', method: 'POST', headers }
    const outgoing = request(options, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode === 200))
    })
    outgoing.on('error', () => resolve(false))
    outgoing.end(body)
  })

const quantile = (values, part) => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * part) - 1]
}
const p99 = (values) => quantile(values, 0.99)
const median = (values) => quantile(values, 0.5)

const tokens = { victim: 'the-token-of-the-victim', flooder: 'the-token-of-the-flooder' }
const toHash = (token) => `sha256:${createHash('sha256').update(token).digest('hex')}`

const toFixture = (attack) => {
  const folder = `${fixtures}/fairness-${attack}`
  mkdirSync(folder, { recursive: true })
  const entries = Object.entries(tokens).map(([subject, token]) => ({
    hash: toHash(token),
    subject,
    scopes: [],
  }))
  const config = {
    name: 'fairness',
    version: '1.0.0',
    sources: [
      { definitions: './tools.mjs' },
      { manifest: './agent.yaml', handlers: './handlers.mjs' },
    ],
    policy: { rules: [{ match: 'guarded', approval: true }] },
    http: { tokens: entries },
  }
  writeFileSync(`${folder}/drawbridge.yaml`, JSON.stringify(config))
  writeFileSync(
    `${folder}/tools.mjs`,
    `import { defineTool, z } from 'drawbridge-mcp'
const tool = (name, category, schema, execute) =>
  defineTool({ name, description: name, category, schema, execute })
export default [
  tool('echo', 'analysis', z.object({ text: z.any() }), ({ text }) => ({ length: text.length })),
  tool('slow', 'analysis', z.object({}), () => new Promise((resolve) => setTimeout(resolve, 2000, {}))),
  tool('guarded', 'write', z.object({ id: z.string() }), () => ({})),
]
`,
  )
  writeFileSync(`${folder}/agent.yaml`, JSON.stringify(manifest))
  writeFileSync(`${folder}/handlers.mjs`, 'export const match = () => ({})\n')
  return `${folder}/drawbridge.yaml`
}

/** A tool whose pattern needs much work for a long text without a match, even in linear time. */
const manifest = {
  schema_version: '0.1',
  identity: {
    id: 'matcher',
    name: 'Matcher',
    version: '1.0.0',
    description: 'Matches texts.',
    owner: 'bench',
    type: 'service',
  },
  requirements: { permissions: [] },
  capabilities: [
    {
      id: 'match',
      name: 'Match',
      description: 'Matches a text.',
      category: 'retrieval',
      input_schema: {
        type: 'object',
        properties: { text: { type: 'string', pattern: '[ab]*a[ab]{500}[cd]' } },
        required: ['text'],
      },
      protocols: ['INTERNAL'],
      permissions: [],
      idempotent: true,
      side_effect_level: 'none',
    },
  ],
  interfaces: [{ name: 'desk', protocol: 'INTERNAL', auth: 'none', privileged: false }],
}

// Exit code 1 is reserved for missed targets.
await main().catch((error) => {
  console.error(error.message)
  process.exit(2)
})
