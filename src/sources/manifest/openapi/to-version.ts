import { manifestShape } from '../reading/manifest-shape.ts'

const { version } = manifestShape.shape.identity.shape

/** A semantic version as it is, or the nearest to what was meant: `v2` becomes `2.0.0`. */
export function toVersion(text: string): string {
  if (version.safeParse(text).success) return text
  const [, major = '0', minor = '0', patch = '0'] =
    /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?/i.exec(text) ?? []
  const meant = [major, minor, patch].map(Number).join('.')
  return meant === '0.0.0' ? '0.1.0' : meant
}
