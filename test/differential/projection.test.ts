import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  RELATED_TASK_META_KEY,
  SERVER_INFO_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { defineTool, definitionSource, type JsonObject, z } from '../../src/index.ts'
import { legacyRevisions, protocolMeta } from '../../src/mcp/wire-names.ts'
import { amount } from '../support/amount.ts'
import { openServers } from './both-servers.ts'
import { normalise } from './reply.ts'
import { StdioLane } from './stdio-lane.ts'

test('the names and revisions of the protocol are those of the SDK', () => {
  expect(protocolMeta).toEqual({
    protocolVersion: PROTOCOL_VERSION_META_KEY,
    clientInfo: CLIENT_INFO_META_KEY,
    clientCapabilities: CLIENT_CAPABILITIES_META_KEY,
    logLevel: LOG_LEVEL_META_KEY,
    serverInfo: SERVER_INFO_META_KEY,
    subscriptionId: SUBSCRIPTION_ID_META_KEY,
    relatedTask: RELATED_TASK_META_KEY,
  })
  expect(legacyRevisions).toEqual(SUPPORTED_PROTOCOL_VERSIONS)
})

/** A schema, and a value that it allows. */
interface Output {
  readonly schema: JsonObject
  readonly value: unknown
}

const leaves: fc.Arbitrary<Output> = fc.oneof(
  fc.string().map((value) => ({ schema: { type: 'string', default: '#/a' }, value })),
  fc.integer().map((value) => ({ schema: { type: 'integer' }, value })),
  fc.boolean().map((value) => ({ schema: { type: 'boolean' }, value })),
  fc.constant({ schema: { type: 'null' }, value: null }),
  fc.constant({ schema: { const: { $ref: '#/properties/a' } }, value: { $ref: '#/properties/a' } }),
  fc.constant({ schema: { enum: ['#', { $ref: '#' }] }, value: '#' }),
)

const names = fc.constantFrom('a', '$ref', 'properties', 'enum', 'default', 'type')

const { outputs } = fc.letrec<{ outputs: Output }>((tie) => ({
  outputs: fc.oneof(
    { maxDepth: 3 },
    leaves,
    fc.array(tie('outputs'), { maxLength: 2 }).map((items) => ({
      schema: { type: 'array', prefixItems: items.map(({ schema }) => schema) },
      value: items.map(({ value }) => value),
    })),
    fc.dictionary(names, tie('outputs'), { maxKeys: 3 }).map((fields) => ({
      schema: {
        type: 'object',
        properties: mapValues(fields, ({ schema }) => schema),
        required: Object.keys(fields),
      },
      value: mapValues(fields, ({ value }) => value),
    })),
    tie('outputs').map(({ schema, value }) => ({ schema: { anyOf: [schema] }, value })),
    tie('outputs').map(({ schema, value }) => ({
      schema: { $defs: { part: schema }, $ref: '#/$defs/part' },
      value,
    })),
    tie('outputs').map(({ schema, value }) => ({
      schema: { $schema: 'https://json-schema.org/draft/2020-12/schema', allOf: [schema] },
      value,
    })),
    // References to the root, to an anchor, and in a document of its own.
    fc.constantFrom<Output>(
      { schema: { type: 'array', items: { $ref: '#' } }, value: [[], [[]]] },
      { schema: { $defs: { a: { $anchor: 'a', type: 'null' } }, $ref: '#a' }, value: null },
      {
        schema: { $id: 'https://example.com/a', type: 'array', items: { $ref: '#' } },
        value: [[]],
      },
    ),
  ),
}))

const mapValues = <Value, Result>(
  fields: Readonly<Record<string, Value>>,
  map: (value: Value) => Result,
): Record<string, Result> =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, map(value)]))

test('output schemas and results are wrapped for 2025 as by the SDK', async () => {
  const count = amount(150, 1_000)
  const generated = fc.sample(outputs, count)
  const tools = generated.map(({ schema, value }, index) =>
    defineTool({
      name: `tool_${index}`,
      description: 'Returns what its output schema allows.',
      category: 'analysis',
      schema: z.object({}),
      outputSchema: schema,
      execute: () => value as never,
    }),
  )
  const { ours, sdk, close } = await openServers(() => [definitionSource(tools)])
  onTestFinished(close)
  const lanes = [await StdioLane.open(ours, 'legacy'), await StdioLane.open(sdk, 'legacy')] as const
  const requests = [
    { jsonrpc: '2.0', id: 'list', method: 'tools/list' },
    ...tools.map(({ name }) => ({
      jsonrpc: '2.0',
      id: name,
      method: 'tools/call',
      params: { name, arguments: {} },
    })),
  ]

  const replies = await Promise.all(
    lanes.map(async (lane) => {
      for (const [index, request] of requests.entries()) {
        lane.write(`${JSON.stringify(request)}\n`)
        await lane.receive(index + 1)
      }
      return normalise(lane.take()).messages
    }),
  )

  const [ourMessages = [], sdkMessages = []] = replies
  const wrapped = ourMessages.filter(({ result }) => 'result' in Object(result?.structuredContent))
  expect(ourMessages).toHaveLength(requests.length)
  expect(wrapped.length).toBeGreaterThan(count / 4)
  for (const [index, message] of ourMessages.entries()) expect(message).toEqual(sdkMessages[index])
})
