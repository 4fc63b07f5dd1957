import type { Call } from '../capability/call.ts'
import type { Done, Outcome } from '../capability/outcome.ts'
import { refused } from './failures.ts'
import type { Step } from './step.ts'
import { weigh } from './weigh.ts'

/** What leaves is JSON, of bearable size, and what the capability promised. */
export const checkOutput =
  (largest: number): Step =>
  async (call, next) => {
    const outcome = await next(call)
    if (outcome.kind !== 'done') return outcome
    const kept = await keepPromise(call, outcome)
    if (kept.kind !== 'done') return kept
    const weight = weigh(kept.data, largest) + weigh(kept.content, largest)
    if (Number.isNaN(weight))
      return refused('invalid_output', 'The answer cannot be written as JSON.', {
        cause: new Error(`${call.capability.name} answered with something JSON cannot carry`),
      })
    if (weight <= largest) return kept
    const message = `The answer of ${call.capability.name} is larger than ${largest} characters and was not sent. Ask for less: a filter, fewer fields, a smaller page.`
    return refused('result_too_large', message, { details: { limit: largest } })
  }

async function keepPromise(call: Call, outcome: Done): Promise<Outcome> {
  const { output } = call.capability
  if (!output) return outcome
  const parsed = await output.parse(outcome.data)
  if (parsed.ok) return { ...outcome, data: parsed.value }
  const places = parsed.issues.map(({ pointer, message }) => `${pointer || '/'} ${message}`)
  return refused('invalid_output', 'The answer did not have the promised form.', {
    cause: new Error(`${call.capability.name} broke its output schema: ${places.join('; ')}`),
  })
}
