import { Cancellation } from '../capability/cancellation.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { toCause } from '../capability/to-cause.ts'
import type { ScheduleProbe, UpstreamSource } from '../upstream/egress/upstream-source.ts'
import type { ProbeOptions } from './drawbridge-options.ts'

const maxConcurrent = 8

/** Asks the servers of all sources, a few at a time. A source that cannot be asked does not affect the others. */
export async function probeUpstreams(
  sources: readonly UpstreamSource[],
  { timeoutMs = 10_000, onProgress = () => {} }: ProbeOptions,
): Promise<readonly Diagnostic[]> {
  const schedule = createSchedule(timeoutMs, onProgress)
  const findings = await Promise.all(
    sources.map(async (source): Promise<readonly Diagnostic[]> => {
      try {
        return (await source.probe?.(schedule)) ?? []
      } catch (error) {
        const message = `The servers of the source could not be asked: ${toCause(error)}`
        const finding = { code: 'upstream_unchecked', severity: 'error', message } as const
        return [{ ...finding, source: source.id, pointer: '' }]
      }
    }),
  )
  return findings.flat()
}

function createSchedule(
  timeoutMs: number,
  onProgress: (done: number, total: number) => void,
): ScheduleProbe {
  const waiting: (() => void)[] = []
  let running = 0
  let done = 0
  let total = 0
  return async (ask) => {
    onProgress(done, ++total)
    if (running >= maxConcurrent) await new Promise<void>((resolve) => waiting.push(resolve))
    running++
    const cancellation = new Cancellation()
    const timer = setTimeout(
      () => cancellation.cancel(`No answer within ${timeoutMs} ms.`),
      timeoutMs,
    )
    try {
      return await ask(cancellation)
    } finally {
      clearTimeout(timer)
      running--
      waiting.shift()?.()
      onProgress(++done, total)
    }
  }
}
