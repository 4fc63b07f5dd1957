import { findNearest } from './find-nearest.ts'
import { SetupError } from './setup-error.ts'

/**
 * Refuses options that a function of the library does not have. In JavaScript no compiler finds a misspelt
 * `exclude`, and a source without it would serve everything.
 */
export function checkOptionNames(options: object, known: Readonly<Record<string, unknown>>): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name)) continue
    const nearest = findNearest(name, Object.keys(known))
    throw new SetupError(
      `Unknown option "${name}".${nearest === undefined ? '' : ` Did you mean "${nearest}"?`}`,
    )
  }
}
