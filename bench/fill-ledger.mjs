import { importSource } from './sources.mjs'

const batchSize = 10_000

/** Writes `count` runs, each by another caller, with an idempotency key, a charge and an approval. */
export const fillLedger = async (file, count) => {
  const { SqliteLedger } = await importSource('storage/ledger/sqlite-ledger')
  const at = Date.now()
  const ledger = new SqliteLedger({
    file,
    process: {
      processId: 'filled',
      pid: process.pid,
      isAlive: () => false,
      startOf: () => undefined,
    },
    keepRunsMs: 1e12,
    clocks: { wallMs: () => at, steadyMs: () => at, uptimeMs: () => 0 },
    onWarning: () => {},
    onError: (error) => {
      throw error
    },
  })
  for (let start = 0; start < count; start += batchSize)
    await ledger.write((writer) => {
      for (let index = start; index < Math.min(count, start + batchSize); index++) {
        const id = `run-${index}`
        const caller = `caller-${index}`
        writer.beginRun({
          id,
          caller,
          capability: 'echo_0',
          key: `key-${index}`,
          digest: `digest-${index}`,
          fingerprint: '',
          started: at,
          charges: [],
        })
        writer.endRun(id, { state: 'done', finished: at, outcome: { kind: 'done', data: index } })
        writer.charge(`caller ${caller}`, 'day', 1)
        writer.append({ event: 'begin', at, id, caller })
        writer.addApproval({
          id: `approval-${index}`,
          binding: `binding-${index}`,
          request: `request-${index}`,
          covers: {},
          caller,
          capability: 'echo_0',
          state: 'used',
          created: at,
          expires: at,
          shown: { source: 'tools', description: 'Echo', arguments: '{}', effects: 'writes' },
        })
      }
    })
  await ledger.close()
}
