import type { Fault } from '../../capability/fault.ts'
import { isNever } from './address-class.ts'
import { type AddressBlock, type IpAddress, isInBlock, parseBlock } from './ip-address.ts'

/** `policy.egress`, as it is written: hosts, `*.` patterns, addresses and CIDR blocks. */
export interface EgressPolicy {
  /** The only destinations that may be reached. Absent: every destination but local ones behind public names. */
  readonly allow?: readonly string[] | undefined
  /** Destinations that may not be reached, whatever `allow` says. */
  readonly deny?: readonly string[] | undefined
}

/** One entry of `allow` or `deny`. */
export type EgressRule = { readonly host: string } | { readonly block: AddressBlock }

const hostPattern =
  /^(\*|(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*)$/

/** Reads one entry; a fault says what is wrong with it. */
export function readEgressRule(text: string): EgressRule | Fault {
  const block = parseBlock(text)
  if (block) return { block }
  const host = normaliseHost(text)
  // A numeric last label is a mistyped address: no host name ends with one.
  if (!hostPattern.test(host) || /(^|\.)(\d+|0x[0-9a-f]*)$/.test(host))
    return {
      fault: `${JSON.stringify(text)} must be a host such as api.example.com or *.example.com, or addresses such as 10.0.0.0/8`,
    }
  return { host }
}

/** Like `readEgressRule`, for entries of `allow`. */
export function readAllowRule(text: string): EgressRule | Fault {
  const rule = readEgressRule(text)
  return 'block' in rule && isNever(rule.block)
    ? { fault: `${JSON.stringify(text)} cannot be allowed: these addresses are never reached` }
    : rule
}

/** Host names are compared in lower case and without the dot of the DNS root. */
export const normaliseHost = (host: string): string => host.toLowerCase().replace(/\.$/, '')

export const matchesHost = (rules: readonly EgressRule[], host: string): boolean =>
  rules.some(
    (rule) =>
      'host' in rule &&
      (rule.host === '*' ||
        rule.host === host ||
        (rule.host.startsWith('*.') && host.endsWith(rule.host.slice(1)))),
  )

export const matchesAddress = (rules: readonly EgressRule[], address: IpAddress): boolean =>
  rules.some((rule) => 'block' in rule && isInBlock(address, rule.block))
