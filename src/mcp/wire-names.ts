/** Every name of ours on the wire; `docs/wire.md` describes them. */
const ours = <const Name extends string>(name: Name) => `dev.drawbridge/${name}` as const

export const toolMeta = {
  origin: ours('origin'),
  effects: ours('effects'),
  rules: ours('rules'),
  fingerprint: ours('fingerprint'),
  extras: ours('extras'),
  schema: ours('schema'),
} as const

export const resultMeta = {
  callId: ours('call-id'),
  failure: ours('failure'),
  fetchedAt: ours('fetched-at'),
  budget: ours('budget'),
  replayed: ours('replayed'),
  route: ours('route'),
} as const

export const requestMeta = {
  idempotencyKey: ours('idempotency-key'),
  expectFingerprint: ours('expect-fingerprint'),
  /** Not ours: the name that the protocol reserves for it. */
  traceparent: 'traceparent',
} as const

/** Of the server as a whole, by the id of the manifest it comes from. */
export const manifestExtension = ours('manifest')

/** The one revision of the stateless era that is spoken here. */
export const modernRevision = '2026-07-28'
