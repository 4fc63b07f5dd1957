import { setTimeout as sleep } from 'node:timers/promises'
import { checkAll, runWithoutErrors, settleMs } from './measure-timings.mjs'
import { open } from './subjects.mjs'

/**
 * Resident megabytes of each server.
 *
 * @returns {Promise<{ row: import('./subjects.mjs').Row, idle: number, loaded: number }[]>}
 */
export const measureMemory = async ({ rows, calls }, { quick }) => {
  const results = []
  for (const row of rows) {
    const subject = await open(row)
    await checkAll([subject])
    await sleep(settleMs)
    const idle = subject.residentMegabytes()
    await runWithoutErrors(subject, { limit: quick ? 1000 : calls, seconds: 120 })
    results.push({ row, idle, loaded: subject.residentMegabytes() })
    await subject.close()
  }
  return results
}
