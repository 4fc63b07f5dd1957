import path from 'node:path'
import { expect, test } from 'vitest'
import { createDrawbridge, definitionSource, type ToolContext, z } from '../../src/index.ts'
import { aProject, put } from '../support/a-project.ts'
import { eventually } from '../support/eventually.ts'
import { startServing } from '../support/run-cli.ts'
import { aModernPost, answerOf, post } from '../support/wire.ts'

const definitions = (description: string) =>
  `export const tools = [{ type: 'function', name: 'get_rate', description: '${description}', parameters: { type: 'object', properties: {} } }]\n`
const handlers = (rate: number) => `exports.handlers = { get_rate: () => '${rate} %' }\n`

test('serve --watch reloads definitions of another library, and the functions that another file exports', async () => {
  const cwd = await aProject({
    'drawbridge.yaml':
      'sources:\n  - definitions: [./tools.mjs, ./handlers.cjs]\n    categories: { get_rate: read }\n',
    'tools.mjs': definitions('First.'),
    'handlers.cjs': handlers(3),
  })
  const { url } = await startServing(['--watch'], { cwd })
  const ask = async (method: string, params = {}) =>
    (await answerOf(await post(url, aModernPost(method, params)))).result
  expect(await ask('tools/call', { name: 'get_rate', arguments: {} })).toMatchObject({
    content: [{ text: '3 %' }],
  })

  await put(path.join(cwd, 'handlers.cjs'), handlers(4))
  await put(path.join(cwd, 'tools.mjs'), definitions('Second.'))

  await eventually(async () => {
    expect(await ask('tools/call', { name: 'get_rate', arguments: {} })).toMatchObject({
      content: [{ text: '4 %' }],
    })
    expect(await ask('tools/list')).toMatchObject({ tools: [{ description: 'Second.' }] })
  })
})

test('the code of a tool covers the function that another module exports for it', async () => {
  const tools = [{ name: 'get_rate', description: 'Rate.', input_schema: { type: 'object' } }]
  const codeWith = async (handlersCode: string) => {
    const source = definitionSource(async () => [
      { file: 'tools.ts', exports: { tools }, code: 'a' },
      { file: 'handlers.ts', exports: { handlers: { get_rate: () => 1 } }, code: handlersCode },
    ])
    const { capabilities } = await source.read()
    return capabilities[0]?.code
  }

  expect(await codeWith('b')).not.toBe(await codeWith('c'))
})

test('the context has the id of the call, the arguments as they were sent, and whether they are approved', async () => {
  const seen: Partial<ToolContext>[] = []
  const bridge = createDrawbridge({
    sources: [
      definitionSource({
        get_rate: {
          description: 'Rate.',
          category: 'read',
          schema: z.object({ days: z.number().default(7) }),
          execute: (input: object, { callId, rawInput, approved }: ToolContext) => {
            seen.push({ callId, rawInput, approved })
            return input
          },
        },
      }),
    ],
  })

  const result = await bridge.call('get_rate', {})

  expect(result.structuredContent).toEqual({ days: 7 })
  const callId = result._meta?.['dev.drawbridge/call-id']
  expect(seen).toEqual([{ callId, rawInput: {}, approved: false }])
})
