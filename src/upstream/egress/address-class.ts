import { type AddressBlock, type IpAddress, isInBlock, parseBlock } from './ip-address.ts'

/**
 * Who can be behind an address.
 * - `never`: nobody an upstream call is meant for, such as a cloud's metadata service.
 * - `local`: this machine or a private network.
 * - `public`: the internet.
 */
export type AddressClass = 'never' | 'local' | 'public'

export interface ClassifiedAddress {
  readonly class: AddressClass
  /** The kind of address, such as `link-local`. */
  readonly kind: string
}

/** The first matching row decides. From the IANA special-purpose registries and the clouds' documents. */
// biome-ignore format: table
const rows: readonly (readonly [AddressClass, string, readonly string[]])[] = [
  ['never',  'cloud metadata',  ['169.254.169.254', '100.100.100.200', '192.0.0.192', '168.63.129.16',
                                 'fd00:ec2::254', 'fd20:ce::254']],
  ['never',  'link-local',      ['169.254.0.0/16', 'fe80::/10']],
  ['never',  'unspecified',     ['0.0.0.0/8', '::']],
  ['local',  'loopback',        ['127.0.0.0/8', '::1']],
  ['local',  'private',         ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10']],
  ['local',  'shared (CGNAT)',  ['100.64.0.0/10']],
  ['never',  'multicast',       ['224.0.0.0/4', 'ff00::/8']],
  ['never',  'reserved',        ['240.0.0.0/4', '100::/64']],
  ['local',  'special-purpose', ['192.0.0.0/24', '192.0.2.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24',
                                 '192.88.99.0/24', '2001:db8::/32', '3fff::/20', '64:ff9b:1::/48', '5f00::/16']],
  ['public', 'public',          ['0.0.0.0/0', '2000::/3']],
  // Transition prefixes outside of 2000::/3: the IPv4 address inside decides.
  ['public', 'public',          ['64:ff9b::/96', '::/96', '::ffff:0:0:0/96']],
  ['never',  'reserved',        ['::/0']],
]

type ClassifiedBlock = ClassifiedAddress & { readonly block: AddressBlock }

let parsedRows: readonly ClassifiedBlock[] | undefined

/** Parsed at the first address: most starts have none. */
function toBlocks(): readonly ClassifiedBlock[] {
  parsedRows ??= rows.flatMap(([addressClass, kind, texts]) =>
    texts.map((text) => ({ class: addressClass, kind, block: toBlock(text) })),
  )
  return parsedRows
}

const severity: readonly AddressClass[] = ['public', 'local', 'never']

/** The class of an address, or of an IPv4 address inside it if that is the worse one. */
export function classify(address: IpAddress): ClassifiedAddress {
  const [worst] = [address, ...findEmbedded(address)]
    .map(classifyOne)
    .sort((a, b) => severity.indexOf(b.class) - severity.indexOf(a.class))
  return worst as ClassifiedAddress
}

const classifyOne = (address: IpAddress): ClassifiedAddress =>
  toBlocks().find(({ block }) => isInBlock(address, block)) ?? { class: 'never', kind: 'unknown' }

/** True if every address of the block is in one range of the class `never`. */
export const isNever = ({ base, prefixBits }: AddressBlock): boolean =>
  toBlocks().some(
    ({ class: addressClass, block }) =>
      addressClass === 'never' &&
      block.prefixBits > 0 &&
      prefixBits >= block.prefixBits &&
      isInBlock(base, block),
  )

/** Where transition mechanisms put an IPv4 address: prefix, and the offset of its bytes. */
const embeddings: readonly (readonly [string, number])[] = [
  ['::/96', 12], // IPv4-compatible
  ['::ffff:0:0:0/96', 12], // IPv4-translated (SIIT)
  ['64:ff9b::/96', 12], // NAT64
  ['64:ff9b:1::/48', 12], // NAT64 with a local prefix
  ['2002::/16', 2], // 6to4
  ['2001::/32', 4], // Teredo: the server
]
const teredo = '2001::/32'

function findEmbedded(address: IpAddress): readonly IpAddress[] {
  if (address.length === 4) return []
  const found = embeddings.flatMap(([block, offset]) =>
    isInBlock(address, toBlock(block)) && !isLowAddress(address)
      ? [address.slice(offset, offset + 4)]
      : [],
  )
  // Teredo stores the client's address inverted.
  if (isInBlock(address, toBlock(teredo))) found.push(address.slice(12).map((byte) => byte ^ 0xff))
  // ISATAP: the interface identifier 0:5efe or 200:5efe, then IPv4.
  if (address[10] === 0x5e && address[11] === 0xfe && (address[8] === 0 || address[8] === 2))
    found.push(address.slice(12))
  return found
}

/** `::` and `::1` contain no IPv4 address. */
const isLowAddress = (address: IpAddress): boolean =>
  address.slice(0, 15).every((byte) => byte === 0) && (address[15] ?? 0) < 2

function toBlock(text: string): AddressBlock {
  const block = parseBlock(text)
  if (!block) throw new Error(`${text} is not a block of addresses`)
  return block
}
