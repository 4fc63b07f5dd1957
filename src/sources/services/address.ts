/** `drawbridge://<source>/<what>`: where something of a service is found. */
export const toUri = (source: string, ...steps: readonly string[]): string =>
  `drawbridge://${[toAuthority(source), ...steps.map(encodeURIComponent)].join('/')}`

/** A source is often named by its file: `./rooms/lights.ts` is found at `lights`. */
const toAuthority = (source: string): string =>
  source
    .replace(/^.*[\\/]/, '')
    .replace(/\.[cm]?[jt]s$/, '')
    .replaceAll(/[^A-Za-z0-9._-]/g, '-') || 'service'

/** What something is called beyond its own service: `kitchen.lamp`. */
export const toName = (path: readonly string[], key: string): string => [...path, key].join('.')

/** The same for hosts that know no dots: `kitchen_lamp`. */
export const toPortableName = (path: readonly string[], key: string): string =>
  [...path, key].join('_')

/** Where in the service it was declared. */
export const toSegments = (
  path: readonly string[],
  ...steps: readonly string[]
): readonly string[] => [...path.flatMap((link) => ['links', link]), ...steps]
