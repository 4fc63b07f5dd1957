import { z } from 'zod'
import type { Call } from '../../capability/call.ts'
import type { Capability } from '../../capability/capability.ts'
import { type Effects, readOnly } from '../../capability/effects.ts'
import { isFault } from '../../capability/fault.ts'
import { type Failed, isFailed, type Outcome } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { metrics } from './aggregate/plan-aggregation.ts'
import { granularities } from './aggregate/time-buckets.ts'
import { toFailedAnswer } from './answers/failed-answer.ts'
import type { Reads } from './reads.ts'

const connection_id = z
  .string()
  .min(1)
  .optional()
  .describe('Connection to read, as listed by schema.')
const stream = z.string().min(1)
const filter = z
  .record(z.string(), z.unknown(), {
    error: 'must be an object, such as {"field": value} or {"field": {"gte": value}}',
  })
  .optional()
  .describe('{"field": value} or {"field": {"gte": v, "lt": v}}; all conditions must match.')
const fields = z.array(z.string()).min(1).optional().describe('Return only these fields.')
const limit = z.number().int().min(1).max(100).optional()
const cursor = z
  .string()
  .max(4096)
  .optional()
  .describe('next_cursor from the previous page of the same read.')

interface Tool<Input extends z.ZodType> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Input
  read(reads: Reads, input: z.output<Input>): Promise<Outcome> | Outcome
}

/** Returns its argument; exists so that `read` is typed by `input`. */
const tool = <Input extends z.ZodType>(definition: Tool<Input>) => definition

/** The complete list of tools. Their texts never depend on the content of the store. */
const tools = [
  tool({
    name: 'schema',
    title: 'List readable data',
    description:
      'Lists the streams and connections you can read. Call it first without arguments, then with stream for its fields, filters, sorting and aggregations. detail "full" adds the JSON Schema and requires a stream.',
    input: z.strictObject({
      stream: stream.optional(),
      connection_id,
      detail: z.enum(['compact', 'full']).optional(),
    }),
    read: (reads, { connection_id: connection, ...query }) =>
      reads.schema({ ...query, connection }),
  }),
  tool({
    name: 'query_records',
    title: 'Read records',
    description:
      'Reads the records of one stream, newest first: filter, sort, project, page with cursor, count, or follow changes. Besides data, each record always has id, stream, connection_id and emitted_at. To find words in text use search; for statistics over many records use aggregate.',
    input: z.strictObject({
      stream,
      connection_id,
      filter,
      fields,
      view: z.string().optional().describe('Named set of fields, instead of fields.'),
      sort: z.string().optional().describe('"field" or "-field", as listed by schema.'),
      order: z.enum(['asc', 'desc']).optional(),
      limit: limit.describe('Records per page (default 25).'),
      cursor,
      count: z.enum(['none', 'exact']).optional(),
      expand: z.array(z.string()).optional().describe('Relations to include, as listed by schema.'),
      expand_limit: z.record(z.string(), z.number().int().min(1)).optional(),
      changes_since: z
        .string()
        .max(4096)
        .optional()
        .describe('"beginning", or next_changes_since from an earlier read.'),
    }),
    read: (reads, { connection_id: connection, expand_limit, changes_since, ...query }) =>
      reads.query({
        ...query,
        connection,
        expandLimit: expand_limit,
        changesSince: changes_since,
      }),
  }),
  tool({
    name: 'aggregate',
    title: 'Count and sum',
    description:
      'Counts, sums, averages, or finds the minimum or maximum over all matching records of one stream, in total or by group. schema lists the fields each metric can use.',
    input: z.strictObject({
      stream,
      metric: z.enum(metrics),
      connection_id,
      field: z.string().optional().describe('Field to sum or compare; not used with count.'),
      group_by: z.string().optional(),
      group_by_time: z.string().optional(),
      granularity: z.enum(granularities).optional().describe('Required with group_by_time.'),
      time_zone: z.string().max(100).optional().describe('IANA name (default UTC).'),
      limit: limit.describe('Groups returned (default 10).'),
      filter,
    }),
    read: (reads, { connection_id: connection, ...input }) =>
      reads.aggregate({
        ...input,
        connection,
        groupBy: input.group_by,
        groupByTime: input.group_by_time,
        timeZone: input.time_zone,
      }),
  }),
  tool({
    name: 'search',
    title: 'Search text',
    description:
      'Finds records that contain every word of q, in all connections or in one. Each hit has an id for fetch. limit applies to all hits together.',
    input: z.strictObject({
      q: z.string().min(1).max(1000),
      streams: z.array(z.string()).min(1).optional().describe('Search only these streams.'),
      connection_id,
      limit: limit.describe('Hits in total (default 10).'),
      cursor,
      filter,
    }),
    read: (reads, { connection_id: connection, ...query }) =>
      reads.search({ ...query, connection }),
  }),
  tool({
    name: 'fetch',
    title: 'Read one document',
    description:
      'Reads one record as a document, by an id from search or query_records. Long texts are returned in parts: next_offset in metadata is the offset of the next part.',
    input: z.strictObject({
      id: z.string().min(1).max(4096),
      connection_id,
      fields,
      offset: z
        .number()
        .int()
        .min(0)
        .optional()
        .describe('Start position in the text, in characters.'),
    }),
    read: (reads, { connection_id: connection, ...query }) => reads.fetch({ ...query, connection }),
  }),
] as const

export type OpenReads = (call: Call) => Promise<Reads | Failed> | Reads | Failed

/** The five capabilities. Each call opens the caller's reads anew. */
export const toCapabilities = (
  open: OpenReads,
  source: string,
  effects: Effects = readOnly,
): readonly Capability[] =>
  tools.map((tool) => toCapability(tool as Tool<z.ZodType>, open, { source, effects }))

function toCapability(
  { name, title, description, input, read }: Tool<z.ZodType>,
  open: OpenReads,
  { source, effects }: { readonly source: string; readonly effects: Effects },
): Capability {
  const reading = readContract(input, 'input')
  if (isFault(reading)) throw new Error(`${name}: ${reading.fault}`)
  return Object.freeze({
    name,
    title,
    description,
    input: reading.contract,
    effects,
    rules: noRules,
    origin: { source, pointer: `/${name}` },
    extras: {},
    async invoke(call: Call): Promise<Outcome> {
      const reads = await open(call)
      if (isFailed(reads)) return reads
      const outcome = await read(reads, withOriginalFilter(call))
      return isFailed(outcome) ? toFailedAnswer(outcome) : outcome
    },
  })
}

/** Zod drops a key called `__proto__`, and a read without that condition would return too much. */
function withOriginalFilter({ input, rawInput }: Call): unknown {
  return isPlainObject(input) && isPlainObject(rawInput) && input.filter !== undefined
    ? { ...input, filter: rawInput.filter }
    : input
}
