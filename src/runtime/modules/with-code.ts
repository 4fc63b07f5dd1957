import type { Capability } from '../../capability/capability.ts'
import type { Reading, Source } from '../../capability/source.ts'
import { isIntentSource } from '../../sources/intents/is-intent-source.ts'

/** A source from a user's module whose capabilities carry the digest of the module. */
export function withCode(source: Source, code: string): Source {
  // Its agents carry digests of their own, and the runtime recognizes it by its methods.
  if (isIntentSource(source)) return source
  const readings = new WeakMap<Reading, Reading>()
  const capabilities = new WeakMap<Capability, Capability>()
  /** Same object for the same object: the catalog compares by identity. */
  const mark = <T extends Capability>(capability: T): T => {
    const marked = (capabilities.get(capability) as T) ?? Object.freeze({ ...capability, code })
    capabilities.set(capability, marked)
    return marked
  }
  const markAll = (reading: Reading): Reading => {
    const marked = readings.get(reading) ?? {
      ...reading,
      capabilities: reading.capabilities.map(mark),
      ...(reading.views && { views: reading.views.map(mark) }),
      ...(reading.prompts && { prompts: reading.prompts.map(mark) }),
    }
    readings.set(reading, marked)
    return marked
  }
  const { watch, close } = source
  return {
    id: source.id,
    read: () => {
      const reading = source.read()
      return reading instanceof Promise ? reading.then(markAll) : markAll(reading)
    },
    ...(watch && { watch: watch.bind(source) }),
    ...(close && { close: close.bind(source) }),
  }
}
