import type { SystemClocks } from '../../src/storage/ledger/time/judge-time.ts'
import { aClock } from './a-clock.ts'

/** A machine whose wall clock can be set, and which can sleep and restart. */
export function aMachine(start = aClock().now()) {
  let [wall, steady, uptime, boots] = [start, 0, 1000, 0]
  return {
    /** The clocks of a process that starts now. */
    clocks: (): SystemClocks => ({
      wallMs: () => wall,
      steadyMs: () => steady,
      uptimeMs: () => uptime,
      bootId: `boot ${boots}`,
    }),
    pass: (milliseconds: number) => {
      wall += milliseconds
      steady += milliseconds
      uptime += milliseconds
    },
    /** The monotonic clock stands still meanwhile. */
    sleep: (milliseconds: number) => {
      wall += milliseconds
      uptime += milliseconds
    },
    setWallClock: (difference: number) => {
      wall += difference
    },
    /** Processes do not survive it. */
    restart: (pauseMs: number) => {
      wall += pauseMs
      steady = 0
      uptime = 1000
      boots++
    },
  }
}
