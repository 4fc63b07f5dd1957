/** True for `localhost`, 127.0.0.0/8 and `::1`: only this machine can connect to such a host. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)

/** Like `isLoopbackHost`, for the host of a URL. */
export const isLoopbackUrl = (url: string): boolean =>
  isLoopbackHost(withoutBrackets(new URL(url).hostname))

/** URLs write IPv6 addresses in brackets. */
const withoutBrackets = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')
