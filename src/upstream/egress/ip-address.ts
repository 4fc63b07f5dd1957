import net from 'node:net'

/** An IP address: 4 bytes for IPv4, 16 for IPv6. IPv4-mapped IPv6 is the IPv4 address. */
export type IpAddress = readonly number[]

/** A block of addresses: those whose first `prefixBits` bits are the same. */
export interface AddressBlock {
  readonly base: IpAddress
  readonly prefixBits: number
}

/** Parses an address in its usual notation; a zone (`%eth0`) is ignored. */
export function parseIp(text: string): IpAddress | undefined {
  const [address = ''] = text.split('%', 1)
  if (net.isIPv4(address)) return address.split('.').map(Number)
  return net.isIPv6(address) ? withoutMapping(parseIpv6(address)) : undefined
}

function parseIpv6(text: string): number[] {
  // An IPv4 address may stand for the last two groups.
  const address = text.replace(/[\d.]+\.\d+$/, (ipv4) => {
    const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number)
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  })
  const [head = '', tail] = address.split('::')
  const [first, last] = [toGroups(head), toGroups(tail ?? '')]
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  return [...first, ...Array<number>(zeros).fill(0), ...last].flatMap((group) => [
    group >> 8,
    group & 0xff,
  ])
}

const toGroups = (text: string): number[] =>
  text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

const withoutMapping = (bytes: readonly number[]): IpAddress =>
  mappedPrefix.every((byte, index) => bytes[index] === byte) ? bytes.slice(12) : bytes

/** Parses CIDR notation such as `10.0.0.0/8` or `[fd00::]/8`; a single address is a block of one. */
export function parseBlock(text: string): AddressBlock | undefined {
  const [, bracketed, plain, bits] =
    /^(?:\[([^\]]+)\]|([^/[\]]+))(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const base = parseIp(bracketed ?? plain ?? '')
  if (!base) return undefined
  const prefixBits = bits === undefined ? base.length * 8 : Number(bits)
  return prefixBits <= base.length * 8 ? { base, prefixBits } : undefined
}

export function isInBlock(address: IpAddress, { base, prefixBits }: AddressBlock): boolean {
  if (address.length !== base.length) return false
  const wholeBytes = prefixBits >> 3
  for (let index = 0; index < wholeBytes; index++) if (address[index] !== base[index]) return false
  const mask = 0xff00 >> (prefixBits & 7)
  return (((address[wholeBytes] ?? 0) ^ (base[wholeBytes] ?? 0)) & mask & 0xff) === 0
}
