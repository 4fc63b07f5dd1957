import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe } from 'vitest'

const folders = existsSync('/usr/lib') ? readdirSync('/usr/lib') : []
const library = folders
  .map((folder) => `/usr/lib/${folder}/faketime/libfaketime.so.1`)
  .find((file) => existsSync(file))

if (library === undefined && process.env.CI) throw new Error('libfaketime is not installed')
if (library === undefined) console.info('Clock changes: skipped, libfaketime is not installed')

/** Tests that change the wall clock of processes: skipped without libfaketime, an error in CI. */
export const describeWithFakeTime = describe.skipIf(library === undefined)

/** A wall clock that can be set while processes run. Their monotonic clock stays the real one. */
export class FakeWallClock {
  readonly #file: string

  constructor(folder: string) {
    this.#file = path.join(folder, 'faketime')
    this.set('+0')
  }

  /** Sets the difference from the real time, such as `-25h` or `+10m`. */
  set(difference: string): void {
    writeFileSync(this.#file, difference)
  }

  /** The environment of a process that uses this clock. */
  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: library ?? '',
      DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
      FAKETIME_NO_CACHE: '1',
      FAKETIME_TIMESTAMP_FILE: this.#file,
    }
  }
}
