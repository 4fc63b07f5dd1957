import { text } from '../../capability/content.ts'
import { done, type Outcome } from '../../capability/outcome.ts'
import { serviceFailed } from './failures.ts'
import type { ServiceSettings } from './options.ts'

/** Nothing is a success without words; a string is an error or data; all else is data. */
export function toOutcome(
  answer: unknown,
  strings: NonNullable<ServiceSettings['strings']>,
): Outcome {
  if (typeof answer !== 'string' || strings === 'data') return done(answer)
  // In the service's own words, and nothing around them.
  return { ...serviceFailed('action_error', answer), content: [text(answer)] }
}
