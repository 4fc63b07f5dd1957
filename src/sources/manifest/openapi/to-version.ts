import { manifestShape } from '../reading/manifest-shape.ts'

const { version } = manifestShape.shape.identity.shape

/** Returns a semantic version unchanged and completes others: `v2` becomes `2.0.0`. */
export function toVersion(text: string): string {
  if (version.safeParse(text).success) return text
  const [, major = '0', minor = '0', patch = '0'] =
    /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?/i.exec(text) ?? []
  const semanticVersion = [major, minor, patch].map(Number).join('.')
  return semanticVersion === '0.0.0' ? '0.1.0' : semanticVersion
}
