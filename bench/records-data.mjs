import { importSource } from './sources.mjs'

const { declareStream, streamShape } = await importSource('sources/records/streams/declare-stream')

/** Four connections with five streams each; `largestSource` has a quarter of all records. */
export const connections = ['work', 'home', 'shop', 'club']
export const streamNames = ['messages', 'orders', 'payments', 'notes', 'visits']
export const largestSource = { connection: 'work', stream: 'messages' }

const ranges = ['gte', 'gt', 'lte', 'lt']

export const streams = new Map(
  streamNames.map((name) => {
    const stream = declareStream(
      name,
      'mail',
      streamShape.parse({
        primary_key: 'id',
        cursor_field: 'sent_at',
        consent_time_field: 'sent_at',
        schema: {
          type: 'object',
          properties: {
            id: { type: 'string' },
            sent_at: { type: 'string', format: 'date-time' },
            channel: { type: 'string' },
            status: { type: 'string' },
            author: { type: 'string' },
            amount: { type: 'number' },
            size: { type: 'integer' },
            unread: { type: 'boolean' },
            subject: { type: 'string' },
            body: { type: 'string' },
            private_note: { type: 'string' },
          },
        },
        query: {
          range_filters: { sent_at: ranges, amount: ranges, size: ranges },
          search: { lexical_fields: ['subject', 'body'] },
          aggregations: {
            sum: ['amount', 'size'],
            min: ['amount', 'sent_at'],
            max: ['amount', 'sent_at'],
            group_by: ['channel', 'status', 'unread'],
            group_by_time: ['sent_at'],
            count_distinct: ['author'],
          },
        },
      }),
    )
    return [name, stream]
  }),
)

/** All fields except `private_note`, so that reads have to project records to the grant. */
export const grantedFields = [
  'id',
  'sent_at',
  'channel',
  'status',
  'author',
  'amount',
  'size',
  'unread',
  'subject',
  'body',
]

/** Number of records of one source in a store of `records` records. */
export const countRecords = (connection, stream, records) =>
  connection === largestSource.connection && stream === largestSource.stream
    ? Math.floor(records / 4)
    : Math.floor((records * 3) / 4 / (connections.length * streamNames.length - 1))

/** Mulberry32: a seeded generator, so that every machine has the same records. */
export function createRandom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

const syllables = ['ba', 'ler', 'mon', 'ti', 'ras', 'vek', 'ou', 'shi', 'lan', 'dor', 'pem', 'gil']
const vocabulary = Array.from(
  { length: 1500 },
  (_, n) =>
    syllables[n % 12] + syllables[Math.floor(n / 12) % 12] + (syllables[Math.floor(n / 144)] ?? ''),
)
const statuses = ['open', 'done', 'late', 'void']
const startMs = Date.UTC(2016, 0, 1)
const endMs = Date.UTC(2026, 0, 1)

/** A record of about 420 bytes: 77 % contain "the", 4 % "meeting", 0.3 % "zephyrine". */
export function createRecord(random, id) {
  const pick = (list) => list[Math.floor(random() * list.length)]
  const words = (count) => Array.from({ length: count }, () => pick(vocabulary))
  const body = words(26)
  if (random() < 0.77) body[3] = 'the'
  if (random() < 0.04) body[7] = 'meeting'
  if (random() < 0.003) body[9] = 'zephyrine'
  return {
    id,
    sent_at: new Date(
      startMs + Math.floor((random() * (endMs - startMs)) / 1000) * 1000,
    ).toISOString(),
    channel: `channel-${Math.floor(random() * 40)}`,
    status: pick(statuses),
    author: `person-${Math.floor(random() * 2000)}@example.org`,
    amount: Math.round(random() * 100_000) / 100,
    size: Math.floor(random() * 5000),
    unread: random() < 0.3,
    subject: words(4).join(' '),
    body: `${body.join(' ')}.`,
    private_note: words(2).join(' '),
  }
}
