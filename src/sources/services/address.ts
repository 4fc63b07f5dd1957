/** The URI of something a service exposes: `drawbridge://<source>/<kind>/<name>`. */
export const toUri = (source: string, ...segments: readonly string[]): string =>
  `drawbridge://${[toAuthority(source), ...segments.map(encodeURIComponent)].join('/')}`

/** Sources are often named after their file: `./rooms/lights.ts` becomes `lights`. */
const toAuthority = (source: string): string =>
  source
    .replace(/^.*[\\/]/, '')
    .replace(/\.[cm]?[jt]s$/, '')
    .replaceAll(/[^A-Za-z0-9._-]/g, '-') || 'service'

/** The name qualified by the links to its service: `kitchen.lamp`. */
export const toName = (path: readonly string[], key: string): string => [...path, key].join('.')

/** The qualified name for hosts that do not accept dots: `kitchen_lamp`. */
export const toPortableName = (path: readonly string[], key: string): string =>
  [...path, key].join('_')

/** The segments of the JSON pointer to an entry of a service. */
export const toSegments = (
  path: readonly string[],
  ...segments: readonly string[]
): readonly string[] => [...path.flatMap((link) => ['links', link]), ...segments]
