import dns, { type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isFault } from '../../capability/fault.ts'
import { classify } from './address-class.ts'
import {
  type EgressPolicy,
  type EgressRule,
  matchesAddress,
  matchesHost,
  normaliseHost,
  readEgressRule,
} from './egress-rules.ts'
import { type IpAddress, parseIp } from './ip-address.ts'

/** The decision about a destination. `undecided`: it depends on the addresses of the host name. */
export type EgressDecision =
  | { readonly verdict: 'allowed' | 'undecided'; readonly why: string }
  | { readonly verdict: 'refused'; readonly why: string }

/** Thrown where a connection is refused. The message is for the operator: it may contain addresses. */
export class EgressError extends Error {
  readonly code = 'EGRESS_REFUSED'
}

/** Resolves a host name to all of its addresses. */
export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>

/**
 * Decides which addresses calls to other servers may reach. Names are decided by every address they
 * resolve to, when a connection is made, and the connection uses exactly these addresses: a DNS
 * answer that changes afterwards (DNS rebinding) has no effect.
 */
export class Egress {
  readonly #allow: readonly EgressRule[] | undefined
  readonly #deny: readonly EgressRule[]
  readonly #resolve: ResolveHost

  constructor({ allow, deny = [] }: EgressPolicy = {}, resolve: ResolveHost = resolveHost) {
    this.#allow = allow && toRules(allow)
    this.#deny = toRules(deny)
    this.#resolve = resolve
  }

  /** Decides without DNS, for `check` and diagnostics. */
  preview(url: string): EgressDecision {
    const host = URL.canParse(url) ? toHost(new URL(url).hostname) : ''
    const address = parseIp(host)
    return address ? this.#decideAddress(host, address) : this.#decideName(host)
  }

  /** Decides with the addresses that the host name has now. */
  async explain(url: string): Promise<EgressDecision> {
    const decision = this.preview(url)
    if (decision.verdict !== 'undecided') return decision
    const host = toHost(new URL(url).hostname)
    try {
      const addresses = await this.resolve(host)
      const texts = addresses.map(({ address }) => address).join(', ')
      return { verdict: 'allowed', why: `${host} resolves to ${texts}` }
    } catch (error) {
      return error instanceof EgressError
        ? { verdict: 'refused', why: error.message }
        : { verdict: 'undecided', why: `${host} does not resolve now` }
    }
  }

  /** The addresses of a host that may be connected to; rejects if one of them is refused. */
  async resolve(hostname: string): Promise<readonly LookupAddress[]> {
    const host = toHost(hostname)
    const literal = parseIp(host)
    if (literal) {
      this.#enforce(this.#decideAddress(host, literal))
      return [{ address: host, family: isIP(host) }]
    }
    this.#enforce(this.#decideName(host))
    const addresses = await this.#resolve(host)
    for (const { address } of addresses)
      this.#enforce(this.#decideAddress(host, parseIp(address) ?? [], address))
    return addresses
  }

  /** The `lookup` of a socket. Sockets do not call it for addresses: see `checkLiteral`. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    this.resolve(hostname).then(
      (resolved) => {
        const { family } = options
        const addresses =
          family === 4 || family === 6
            ? resolved.filter((one) => one.family === family)
            : [...resolved]
        const [first] = addresses
        if (!first) callback(toNotFound(hostname), '')
        else if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      (error) => callback(error, ''),
    )
  }

  /** The refusal of a host that is an address; names are left to `lookup`. */
  checkLiteral(hostname: string): EgressError | undefined {
    const host = toHost(hostname)
    const address = parseIp(host)
    const decision = address && this.#decideAddress(host, address)
    return decision?.verdict === 'refused' ? new EgressError(decision.why) : undefined
  }

  #enforce({ verdict, why }: EgressDecision): void {
    if (verdict === 'refused') throw new EgressError(why)
  }

  #decideName(host: string): EgressDecision {
    if (host === '') return refused('the URL has no host')
    if (metadataNames.has(host)) return refused(`${host} is a cloud metadata service`)
    if (matchesHost(this.#deny, host)) return refused(`policy.egress.deny lists ${host}`)
    if (
      this.#allow &&
      !matchesHost(this.#allow, host) &&
      !this.#allow.some((one) => 'block' in one)
    )
      return refused(`policy.egress.allow does not list ${host}`)
    return { verdict: 'undecided', why: `depends on the addresses of ${host}` }
  }

  /** The rows of the table in `docs/governance.md`, in its order. */
  #decideAddress(host: string, address: IpAddress, text = host): EgressDecision {
    const { class: addressClass, kind } = classify(address)
    const target = text === host ? host : `${host} (${text})`
    if (addressClass === 'never') return refused(`${target} is a ${kind} address: never allowed`)
    if (matchesHost(this.#deny, host) || matchesAddress(this.#deny, address))
      return refused(`policy.egress.deny lists ${target}`)
    const isAllowedAddress = this.#allow !== undefined && matchesAddress(this.#allow, address)
    if (this.#allow && !isAllowedAddress && !matchesHost(this.#allow, host))
      return refused(`policy.egress.allow does not list ${target}`)
    if (addressClass === 'local' && !isAllowedAddress && text !== host && !isPrivateName(host))
      return refused(
        `${target} is a ${kind} address behind a public name: if it is right, list the address in policy.egress.allow`,
      )
    return { verdict: 'allowed', why: `${target} is a ${kind} address` }
  }
}

const refused = (why: string): EgressDecision => ({ verdict: 'refused', why })

function toRules(texts: readonly string[]): readonly EgressRule[] {
  return texts.map((text) => {
    const rule = readEgressRule(text)
    if (isFault(rule)) throw new Error(rule.fault)
    return rule
  })
}

/** URLs write IPv6 addresses in brackets. */
const toHost = (hostname: string): string => normaliseHost(hostname.replace(/^\[(.*)\]$/, '$1'))

/** Names of metadata services; their usual addresses are refused as well. */
const metadataNames = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
])

/** Names that public DNS does not serve: a single label, or a suffix reserved for private networks. */
const isPrivateName = (host: string): boolean =>
  !host.includes('.') ||
  /\.(localhost|local|internal|intranet|private|corp|home|lan|home\.arpa|test|svc)$/.test(host)

const resolveHost: ResolveHost = (host) => dns.promises.lookup(host, { all: true })

const toNotFound = (hostname: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })

/** The rules without a policy. */
export const defaultEgress = new Egress()
