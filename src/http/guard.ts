/** Which names this server answers to, and which pages may talk to it. */
export interface Guard {
  /** `undefined` when the request may pass. */
  refuse(host: string | undefined, origin: string | undefined): string | undefined
}

export interface GuardOptions {
  /** `host` or `host:port`; a bare host allows every port. */
  readonly hosts: readonly string[]
  /** `scheme://host[:port]`, exactly. */
  readonly origins: readonly string[]
}

/**
 * Keeps web pages out: a page can make a browser send anything to this machine, but it cannot
 * choose `Host` and `Origin`. Both are checked, on every route.
 */
export function createGuard({ hosts, origins }: GuardOptions): Guard {
  const allowedHosts = new Set(hosts.map((host) => host.toLowerCase()))
  // As browsers write them: no path, no port that goes without saying.
  const allowedOrigins = new Set(origins.map((origin) => new URL(origin).origin))
  let lastGood: string | undefined
  return {
    refuse(host, origin) {
      // Nearly all requests name the same host, and programs send no origin.
      if (host !== undefined && host === lastGood && origin === undefined) return undefined
      if (host === undefined) return 'The Host header is missing'
      const name = host.toLowerCase()
      if (!allowedHosts.has(name) && !allowedHosts.has(withoutPort(name)))
        return `Host ${JSON.stringify(host)} is not served here`
      if (origin === undefined) {
        lastGood = host
        return undefined
      }
      const from = origin.toLowerCase()
      if (allowedOrigins.has(from) || isOwn(from, name)) return undefined
      return `Origin ${JSON.stringify(origin)} may not talk to this server`
    },
  }
}

const withoutPort = (host: string): string => host.replace(/:\d+$/, '')

/** A page that this very server delivered: same scheme, same host, same port. */
const isOwn = (origin: string, host: string): boolean => origin === `http://${host}`

export const loopbackHosts = ['localhost', '127.0.0.1', '[::1]']
