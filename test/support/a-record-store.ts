import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { isFault } from '../../src/capability/fault.ts'
import type { OpenedSource } from '../../src/runtime/placed-source.ts'
import { recordSource } from '../../src/runtime/records/open-records.ts'
import {
  createGrant,
  createOwnerToken,
  type RequestedTerms,
} from '../../src/sources/records/grants/issue-tokens.ts'
import { createTokenGate } from '../../src/sources/records/grants/token-gate.ts'
import { toRecordEntry } from '../../src/sources/records/import/to-entry.ts'
import type { RecordSource, Stream } from '../../src/sources/records/model/stream.ts'
import { localRecordSource as toRecordSource } from '../../src/sources/records/record-source.ts'
import type { RecordStore } from '../../src/sources/records/record-store.ts'
import { declareStream, streamShape } from '../../src/sources/records/streams/declare-stream.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import { RecordWriter } from '../../src/storage/records/writing/record-writer.ts'
import { aModernClient } from './official-clients.ts'
import { serveHere } from './serve-here.ts'

export type Data = Readonly<Record<string, unknown>>

/** A stream from a declaration like those in `streams.yaml`. */
export function aStream(name: string, shape: Record<string, unknown>, connector = 'mail'): Stream {
  const stream = declareStream(name, connector, streamShape.parse(shape))
  if (isFault(stream)) throw new Error(JSON.stringify(stream.fault))
  return stream
}

const rangeOperators = ['gte', 'gt', 'lte', 'lt']

export const messages = (connector = 'mail', name = 'messages'): Stream =>
  aStream(
    name,
    {
      primary_key: 'id',
      cursor_field: 'sent_at',
      consent_time_field: 'sent_at',
      schema: {
        type: 'object',
        required: ['id', 'sent_at'],
        properties: {
          id: { type: 'string' },
          sent_at: { type: 'string', format: 'date-time' },
          author: { type: 'string', description: 'Who wrote it.' },
          body: { type: 'string' },
          size: { type: 'integer' },
          unread: { type: 'boolean' },
          thread: { type: 'string' },
          labels: { type: 'array', items: { type: 'string' } },
        },
      },
      views: [{ name: 'brief', fields: ['id', 'author'] }],
      relationships: [
        { name: 'replies', stream: name, foreign_key: 'thread', cardinality: 'has_many' },
      ],
      query: {
        range_filters: { sent_at: rangeOperators, size: rangeOperators },
        expand: ['replies'],
        search: { lexical_fields: ['author', 'body'] },
        aggregations: {
          sum: ['size'],
          min: ['size', 'sent_at'],
          max: ['size', 'sent_at'],
          group_by: ['author', 'unread'],
          group_by_time: ['sent_at'],
          count_distinct: ['author'],
        },
      },
    },
    connector,
  )

export const aMessage = (number: number, rest: Data = {}): Data => ({
  id: `m${number}`,
  sent_at: new Date(Date.UTC(2026, 0, 1) + number * 3_600_000).toISOString(),
  author: ['ann', 'bob', 'cyd'][number % 3],
  body: `Message ${number} about the invoice`,
  size: number,
  unread: number % 2 === 0,
  ...rest,
})

export const someMessages = (count: number, rest?: (number: number) => Data): Data[] =>
  Array.from({ length: count }, (_, number) => aMessage(number, rest?.(number)))

export interface TestStore {
  readonly file: string
  readonly writer: RecordWriter
  put(stream: Stream, connection: string, records: readonly Data[], label?: string): RecordSource
  remove(source: RecordSource, key: string): void
  grant(...streams: readonly RequestedTerms[]): {
    token: string
    id: string
    grants: readonly string[]
  }
  owner(): string
}

/** A store in a temporary file; removed when the test ends. */
export async function aRecordStore(): Promise<TestStore> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'drawbridge-records-'))
  const file = path.join(folder, 'personal.db')
  const writer = new RecordWriter(file, Date.now)
  onTestFinished(async () => {
    writer.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  })
  const emittedAt = '2026-06-01T00:00:00.000Z'
  return {
    file,
    writer,
    put(stream, connection, records, label) {
      writer.declare(stream)
      const source = writer.open(stream, {
        id: connection,
        connector: stream.connector,
        ...(label !== undefined && { label }),
      })
      const entries = records.map((record) => {
        const entry = toRecordEntry(stream, record, emittedAt)
        if (isFault(entry)) throw new Error(entry.fault)
        return entry
      })
      for (let at = 0; at < entries.length; at += 500)
        writer.write(source, entries.slice(at, at + 500))
      return source
    },
    remove: (source, key) => writer.write(source, [{ key, emittedAt }]),
    grant(...streams) {
      const { grantPackage, token } = createGrant(
        writer,
        { client: 'test', streams, mode: 'continuous' },
        Date.now(),
      )
      return { token, id: grantPackage.id, grants: grantPackage.grants.map(({ id }) => id) }
    },
    owner: () => createOwnerToken(writer, undefined, Date.now()).token,
  }
}

export interface Result {
  readonly text: string
  readonly data: Record<string, unknown>
  readonly isError: boolean
  readonly failure: { code: string; message: string; details?: Record<string, unknown> } | undefined
  /** The unparsed result. */
  readonly rawResult: unknown
}

export interface ReadingClient {
  readonly client: Awaited<ReturnType<typeof aModernClient>>
  readonly url: string
  readonly origin: string
  call(name: string, input?: Data): Promise<Result>
}

export interface ReaderParts {
  readonly onOperationalError?: (error: unknown) => void
  /** Overrides methods of the store. */
  readonly overrides?: (store: RecordStore) => Partial<RecordStore>
}

/** A source and its token gate over a decorated store. */
function openDecorated(
  file: string,
  overrides: NonNullable<ReaderParts['overrides']>,
): Pick<OpenedSource, 'source' | 'gate'> {
  const original = new SqliteRecords(file, Date.now, () => {})
  const parts = overrides(original)
  const store = new Proxy(original, {
    get: (_, name: keyof SqliteRecords) => {
      const value = (parts as Partial<SqliteRecords>)[name] ?? original[name]
      return typeof value === 'function' ? value.bind(original) : value
    },
  })
  const gate = createTokenGate(
    () => ({ store, now: Date.now, timeoutMs: 10_000 }),
    () => {
      throw new Error('This store is read-only.')
    },
  )
  const source = toRecordSource({
    id: file,
    open: gate.open,
    containsOwnerToken: gate.containsOwnerToken,
    diagnostics: () => [],
    close: async () => original.close(),
  })
  return { source, gate }
}

/** An official client with a token, connected to a server of this store. */
export async function aReader(
  { file }: TestStore,
  token: string,
  { onOperationalError = () => {}, overrides }: ReaderParts = {},
): Promise<ReadingClient> {
  const mounted = recordSource(file, { mount: '/mcp/records' })
  const sources = [overrides ? { ...mounted, ...openDecorated(file, overrides) } : mounted]
  const { port } = await serveHere({ sources, onOperationalError })
  const origin = `http://127.0.0.1:${port}`
  const url = `${origin}/mcp/records`
  const client = await aModernClient(url, { authorization: `Bearer ${token}` })
  return {
    client,
    url,
    origin,
    async call(name, input = {}) {
      const result = await client.callTool({ name, arguments: { ...input } })
      return toResult(result)
    },
  }
}

export function toResult(result: unknown): Result {
  const { content, structuredContent, isError, _meta } = result as {
    content: { type: string; text: string }[]
    structuredContent?: Record<string, unknown>
    isError?: boolean
    _meta?: Record<string, unknown>
  }
  return {
    text: content.map(({ text }) => text).join('\n'),
    data: structuredContent ?? {},
    isError: isError === true,
    failure: _meta?.['dev.drawbridge/failure'] as Result['failure'],
    rawResult: { content, structuredContent },
  }
}

export const bytes = (value: unknown): number =>
  Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value))
