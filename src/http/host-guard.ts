import { type Gate, refuse } from './gate.ts'

/** Decides by `Host` and `Origin` headers whether a request may pass. */
export interface Guard {
  /** The reason for a refusal, or `undefined` when the request may pass. */
  refuse(host: string | undefined, origin: string | undefined): string | undefined
}

export interface GuardOptions {
  /** `host` or `host:port`; a host without a port allows every port. */
  readonly hosts: readonly string[]
  /** `scheme://host[:port]`, compared exactly. */
  readonly origins: readonly string[]
}

/**
 * Protects against DNS rebinding (`Host`) and CSRF (`Origin`). A web page can make a browser send
 * any request to this machine, but the browser sets these two headers itself.
 */
export function createGuard({ hosts, origins }: GuardOptions): Guard {
  const allowedHosts = new Set(hosts.map((host) => host.toLowerCase()))
  // Normalised as browsers send them: without a path and without the default port.
  const allowedOrigins = new Set(origins.map((origin) => new URL(origin).origin))
  let lastAllowedHost: string | undefined
  return {
    refuse(host, origin) {
      // Fast path: most requests repeat the last host, and only browsers send an origin.
      if (host !== undefined && host === lastAllowedHost && origin === undefined) return undefined
      if (host === undefined) return 'The Host header is missing'
      const name = host.toLowerCase()
      if (!allowedHosts.has(name) && !allowedHosts.has(withoutPort(name)))
        return `Host ${JSON.stringify(host)} is not served here`
      if (origin === undefined) {
        lastAllowedHost = host
        return undefined
      }
      const source = origin.toLowerCase()
      if (allowedOrigins.has(source) || isSameOrigin(source, name)) return undefined
      return `Origin ${JSON.stringify(origin)} is not allowed`
    },
  }
}

const withoutPort = (host: string): string => host.replace(/:\d+$/, '')

/** Whether a page comes from this server itself. */
const isSameOrigin = (origin: string, host: string): boolean => origin === `http://${host}`

export const loopbackHosts = ['localhost', '127.0.0.1', '[::1]']

/** Refuses foreign `Host` and `Origin` headers. */
export const checkAddress =
  (guard: Guard): Gate =>
  ({ headers }, reply) => {
    const refusal = guard.refuse(headers.host, headers.origin)
    if (refusal === undefined) return 'pass'
    refuse(reply, 403, refusal)
    return 'answered'
  }
