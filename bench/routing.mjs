// Cost of in-process routing with five candidates: sequential, and 64 calls concurrently.
import { rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { importSource } from './sources.mjs'

const { Cancellation } = await importSource('capability/cancellation')
const { openLedger } = await importSource('runtime/store/open-ledger')
const { intentSource } = await importSource('sources/intents/intent-source')
const { SqliteExecutionLog } = await importSource('storage/ledger/sqlite-execution-log')

const calls = Number(process.argv[2] ?? 10_000)

const createAgents = (effects) =>
  Array.from({ length: 5 }, (_, index) => ({
    name: `agent-${index}`,
    capabilities: [{ intent: 'Look', description: 'Looks.', effects }],
    handle: () => ({ answer: 42 }),
  }))

async function measure(title, effects, file) {
  const ledger = file && openLedger({ file, keepRunsMs: 86_400_000, onError: console.error })
  const source = intentSource(createAgents(effects))
  source.connect({ ...(ledger && { log: new SqliteExecutionLog(ledger, Date.now) }) })
  const { capabilities } = await source.read()
  const [capability] = capabilities
  let id = 0
  const call = () =>
    capability.invoke({
      id: `call-${++id}`,
      capability,
      address: 'Look',
      input: { q: 1 },
      caller: { subject: 'ann' },
      cancellation: new Cancellation(),
    })
  for (let count = 0; count < 1000; count++) await call()
  const timesUs = []
  const sequentialCalls = Math.min(calls, effects === 'read_only' ? calls : 1000)
  for (let count = 0; count < sequentialCalls; count++) {
    const startedAt = performance.now()
    await call()
    timesUs.push((performance.now() - startedAt) * 1000)
  }
  timesUs.sort((a, b) => a - b)
  const startedAt = performance.now()
  for (let count = 0; count < calls; count += 64)
    await Promise.all(Array.from({ length: 64 }, call))
  const perSecond = (calls / (performance.now() - startedAt)) * 1000
  const quantile = (share) => timesUs[Math.floor(timesUs.length * share)].toFixed(0)
  console.log(
    `${title.padEnd(34)} p50 ${quantile(0.5)} µs, p99 ${quantile(0.99)} µs sequential; ${Math.round(perSecond)}/s, 64 concurrent`,
  )
  await ledger?.close()
}

const file = path.join(os.tmpdir(), `drawbridge-routing-${process.pid}.db`)
await measure('without a log', 'read_only')
await measure('reads, written before the answer', 'read_only', file)
await measure('effects, synced before the agent', 'irreversible', file)
for (const suffix of ['', '-wal', '-shm']) await rm(`${file}${suffix}`, { force: true })
