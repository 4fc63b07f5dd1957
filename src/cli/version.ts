import { createRequire } from 'node:module'

/** The version of the package; the path is the same from `src/cli` and from the bundle. */
export const { version } = createRequire(import.meta.url)('../../package.json') as {
  version: string
}
