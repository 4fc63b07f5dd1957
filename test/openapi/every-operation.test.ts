import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { amount } from '../support/amount.ts'
import { serveApi } from '../support/api/an-api.ts'
import { ApiDocument, type Fields } from '../support/api/api-document.ts'
import { compareArguments, listMissing } from '../support/api/compare-arguments.ts'
import { generateArguments } from '../support/api/generate-arguments.ts'
import { listOperations, type OperationSpec } from '../support/api/operations.ts'
import { unsafeTexts } from '../support/api/unsafe-texts.ts'
import { aClientOf2025, aModernClient } from '../support/official-clients.ts'
import { accepted, toSecrets } from './credentials.ts'

const fixtures = path.resolve('test/fixtures/openapi')

interface Tool {
  readonly name: string
  readonly inputSchema: Fields
  readonly _meta?: Fields | undefined
}

const toLabel = ({ _meta }: Tool): unknown =>
  (_meta?.['dev.drawbridge/extras'] as Fields | undefined)?.http

describe.each([
  'everything.yaml',
  'everything-3.0.yaml',
  'everything-2.0.yaml',
  'split/openapi.yaml',
])('%s', (name) => {
  const file = path.join(fixtures, name)
  const operations = new Map(
    listOperations(new ApiDocument(file)).map((one) => [`${one.method} ${one.route}`, one]),
  )

  test.each([
    ['2026', aModernClient, amount(2, 50)],
    ['2025', aClientOf2025, 1],
  ] as const)(
    'every operation gets the arguments that a client of %s sends',
    async (_, connect, seeds) => {
      const { api, url } = await serveApi(file, {
        basePath: '/v1',
        credentials: accepted,
        secrets: (host) => toSecrets(host, name),
      })
      const client = await connect(url)
      const { tools } = (await client.listTools()) as { tools: Tool[] }
      const differences: string[] = []
      const calls = new Set<string>()

      for (const tool of tools)
        for (let seed = 1; seed <= seeds; seed++) {
          const operation = operations.get(String(toLabel(tool))) as OperationSpec
          const sent = generateArguments(tool.inputSchema, {
            seed,
            unsafe: unsafeTexts(operation, tool.inputSchema),
          })
          // A write with the same arguments is a repeat, and is not sent again.
          const call = `${tool.name} ${JSON.stringify(sent)}`
          if (calls.has(call)) continue
          calls.add(call)
          const result = await client.callTool({
            name: tool.name,
            arguments: sent,
            _meta: { 'dev.drawbridge/idempotency-key': `key ${seed}` },
          })
          const received = api.received.at(-1)
          const problems = received
            ? compareArguments(sent, received, tool.inputSchema)
            : ['nothing received']
          const failure = result.isError ? [JSON.stringify(result.content)] : []
          differences.push(
            ...[...problems, ...failure].map((one) => `${tool.name} ${seed}: ${one}`),
          )
        }

      for (const tool of tools) {
        const operation = operations.get(String(toLabel(tool))) as OperationSpec
        expect([tool.name, ...listMissing(operation, tool.inputSchema)]).toEqual([tool.name])
      }
      expect(tools.map(toLabel).sort()).toEqual([...operations.keys()].sort())
      expect(differences).toEqual([])
    },
  )
})
