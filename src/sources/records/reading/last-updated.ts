import type { Failed } from '../../../capability/outcome.ts'
import type { Scope } from '../model/scope.ts'
import { type Reader, yieldRepeatedly } from './reader.ts'

/** Arrival time of the newest visible record; `null` when there is none. */
export const findLastUpdated = (reader: Reader, scope: Scope): Promise<string | null | Failed> =>
  yieldRepeatedly(reader, walkBack(reader, scope))

function* walkBack({ store }: Reader, scope: Scope): Generator<undefined, string | null> {
  for (let below = Number.MAX_SAFE_INTEGER; ; ) {
    const { at, resume } = store.lastUpdated(scope, below)
    if (at !== undefined || resume === undefined) return at ?? null
    below = resume
    yield
  }
}
