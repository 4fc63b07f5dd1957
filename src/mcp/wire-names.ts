/** Every protocol name that Drawbridge defines; `docs/wire.md` describes them. */
const toWireName = <const Name extends string>(name: Name) => `dev.drawbridge/${name}` as const

export const toolMeta = {
  origin: toWireName('origin'),
  effects: toWireName('effects'),
  rules: toWireName('rules'),
  fingerprint: toWireName('fingerprint'),
  extras: toWireName('extras'),
  schema: toWireName('schema'),
} as const

export const resultMeta = {
  callId: toWireName('call-id'),
  failure: toWireName('failure'),
  fetchedAt: toWireName('fetched-at'),
  budget: toWireName('budget'),
  replayed: toWireName('replayed'),
  retry: toWireName('retry'),
  route: toWireName('route'),
  nextPage: toWireName('next-page'),
} as const

export const requestMeta = {
  idempotencyKey: toWireName('idempotency-key'),
  expectFingerprint: toWireName('expect-fingerprint'),
  /** Reserved by the protocol for W3C Trace Context. */
  traceparent: 'traceparent',
} as const

/** The server extension that holds what each manifest says of itself, by its name. */
export const manifestExtension = toWireName('manifest')

/** The supported protocol revision of the stateless era. */
export const modernRevision = '2026-07-28'

/** The supported revisions of the era with sessions, newest first. */
export const legacyRevisions: readonly string[] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
]

const toProtocolName = <const Name extends string>(name: Name) =>
  `io.modelcontextprotocol/${name}` as const

/** Names in `_meta` that the protocol reserves in 2026-07-28. */
export const protocolMeta = {
  protocolVersion: toProtocolName('protocolVersion'),
  clientInfo: toProtocolName('clientInfo'),
  clientCapabilities: toProtocolName('clientCapabilities'),
  logLevel: toProtocolName('logLevel'),
  serverInfo: toProtocolName('serverInfo'),
  subscriptionId: toProtocolName('subscriptionId'),
  relatedTask: toProtocolName('related-task'),
} as const
