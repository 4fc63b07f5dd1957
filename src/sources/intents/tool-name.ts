import { type IntentRef, wireVersion } from './envelope/envelope.ts'

/**
 * What an intent is called as a capability. The first version has the plain name and every other
 * one says its own, so that a new version never changes what a known name means.
 */
export const toToolName = ({ name, version }: IntentRef): string =>
  version === wireVersion ? name : `${name}_v${version.replaceAll(/[^A-Za-z0-9]+/g, '_')}`
