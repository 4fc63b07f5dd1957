import type { Failed } from '../capability/outcome.ts'
import { unusableEndpoint } from './failures.ts'

/** Parses an endpoint from an untrusted manifest: http(s) only, no credentials in the URL. */
export function toEndpoint(endpoint: string): URL | Failed {
  const url = parseUrl(endpoint)
  if (!url) return unusableEndpoint('The endpoint is not a URL.')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return unusableEndpoint(`The endpoint must be http: or https:, not ${url.protocol}`)
  if (url.username !== '' || url.password !== '')
    return unusableEndpoint(
      'The endpoint must not contain a user or password: refer to a secret instead.',
    )
  url.hash = ''
  return url
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
