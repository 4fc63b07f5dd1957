import type { Failed } from '../capability/outcome.ts'
import { unusableEndpoint } from './failures.ts'

/**
 * An address from a manifest, which anybody may have written: only what is called over HTTP, and
 * never a command to start.
 */
export function toEndpoint(text: string): URL | Failed {
  const url = parse(text)
  if (!url) return unusableEndpoint('The endpoint is not a URL.')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return unusableEndpoint(`An endpoint is http: or https:, not ${url.protocol}`)
  if (url.username !== '' || url.password !== '')
    return unusableEndpoint('An endpoint holds no user or password: name a secret instead.')
  url.hash = ''
  return url
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
