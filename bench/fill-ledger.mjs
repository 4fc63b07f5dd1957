import { existsSync } from 'node:fs'

const built = new URL('../dist/storage/ledger/sqlite-ledger.js', import.meta.url)
const { SqliteLedger } = existsSync(built) ? await import(built.href) : {}

/** A ledger with a past: each run by another caller, with its key, its charge and its approval. */
export const fillLedger = async (file, count) => {
  const at = Date.now()
  const ledger = new SqliteLedger({
    file,
    processId: 'filled',
    pid: process.pid,
    keepRunsMs: 1e12,
    now: () => at,
    isAlive: () => false,
    onError: (error) => {
      throw error
    },
  })
  for (let done = 0; done < count; done += 10_000)
    await ledger.write((writer) => {
      for (let index = done; index < Math.min(count, done + 10_000); index++) {
        const id = `run-${index}`
        const caller = `caller-${index}`
        writer.beginRun({
          id,
          caller,
          capability: 'echo_0',
          key: `key-${index}`,
          digest: `digest-${index}`,
          started: at,
          charges: [],
        })
        writer.endRun(id, { state: 'done', finished: at, outcome: { kind: 'done', data: index } })
        writer.charge(`caller ${caller}`, 'day', 1)
        writer.append({ event: 'begin', at, id, caller })
        writer.addApproval({
          id: `approval-${index}`,
          binding: `binding-${index}`,
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
