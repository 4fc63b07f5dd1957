import { text } from '../../capability/content.ts'
import { done, type Outcome } from '../../capability/outcome.ts'
import { serviceFailed } from './failures.ts'
import type { ServiceSettings } from './options.ts'

/** A string is an error message or data, depending on `strings`; any other result is data. */
export function toOutcome(
  result: unknown,
  strings: NonNullable<ServiceSettings['strings']>,
): Outcome {
  if (typeof result !== 'string' || strings === 'data') return done(result)
  // Passed on verbatim: no "Error:" prefix is added.
  return { ...serviceFailed('action_error', result), content: [text(result)] }
}
