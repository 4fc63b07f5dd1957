import { readFileSync, readlinkSync } from 'node:fs'
import os from 'node:os'
import type { SystemClocks } from '../../storage/ledger/time/judge-time.ts'

/** The clocks of this machine. On Linux, `os.uptime()` reads /proc/uptime, which counts sleep. */
export const createSystemClocks = (): SystemClocks => ({
  wallMs: Date.now,
  steadyMs: () => performance.now(),
  uptimeMs: () => os.uptime() * 1000,
  bootId: readBootId(),
})

/** Processes in another time namespace have another uptime. */
function readBootId(): string | undefined {
  const id = tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
  return id && `${id} ${tryRead(() => readlinkSync('/proc/self/ns/time')) ?? ''}`.trim()
}

/** `undefined` where the file does not exist: only Linux has these. */
export function tryRead(read: () => string): string | undefined {
  try {
    return read() || undefined
  } catch {
    return undefined
  }
}
