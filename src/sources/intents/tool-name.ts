import type { IntentRef } from './envelope/envelope.ts'
import { wireVersion } from './envelope/wire-version.ts'

/**
 * The capability name of an intent. Version 1.0 has the plain name, every other version a suffix, so
 * that a new version never changes the meaning of an existing name.
 */
export const toToolName = ({ name, version }: IntentRef): string =>
  version === wireVersion ? name : `${name}_v${version.replaceAll(/[^A-Za-z0-9]+/g, '_')}`
