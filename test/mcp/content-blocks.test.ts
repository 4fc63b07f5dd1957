import { expect, test } from 'vitest'
import { z } from 'zod'
import { definitionSource } from '../../src/index.ts'
import { aClientOf2025, aModernClient } from '../support/official-clients.ts'
import { serveHere } from '../support/serve-here.ts'

/** The results of both official clients, and the causes that the operator sees. */
async function resultsOf(block: object) {
  const causes: (string | undefined)[] = []
  const { url } = await serveHere({
    sources: [
      definitionSource([
        {
          name: 'draw',
          description: 'Draws.',
          category: 'read',
          schema: z.object({}),
          execute: () => ({ content: [block] }),
        },
      ]),
    ],
    onOperatorFailure: ({ failure }) => causes.push(failure.cause),
  })
  const clients = [await aModernClient(url), await aClientOf2025(url)]
  const call = { name: 'draw', arguments: {} }
  return { results: await Promise.all(clients.map((client) => client.callTool(call))), causes }
}

const image = { type: 'image', mimeType: 'image/png' }
const text = { type: 'text', text: 'a' }
const link = { type: 'resource_link', uri: 'x:y', name: 'a' }
const resource = { type: 'resource', resource: { uri: 'file:///a' } }

test.each<[string, object, RegExp]>([
  ['an image that is not base64', { ...image, data: '!!!' }, /must be base64/],
  ['an image in base64url', { ...image, data: '-_-_' }, /must be base64/],
  ['an image with wrong padding', { ...image, data: 'AA=' }, /must be base64/],
  [
    'a data URL of another type',
    { ...image, data: 'data:image/gif;base64,AAAA' },
    /must be base64/,
  ],
  ['a document without content', resource, /resource/],
  [
    'a blob that is not base64',
    { ...resource, resource: { uri: 'x:y', blob: '?' } },
    /must be base64/,
  ],
  ['a link whose description is null', { ...link, description: null }, /description/],
  ['a link whose size is a text', { ...link, size: '5' }, /size/],
  ['an unknown audience', { ...text, annotations: { audience: ['nobody'] } }, /audience/],
  ['a priority above 1', { ...text, annotations: { priority: 7 } }, /priority/],
  ['a time that is none', { ...text, annotations: { lastModified: 'today' } }, /lastModified/],
])('%s is an error of the operator, not of the client', async (_, block, cause) => {
  const { results, causes } = await resultsOf(block)

  expect(results).toMatchObject([{ isError: true }, { isError: true }])
  expect(causes[0]).toMatch(/invalid content blocks/)
  expect(causes[0]).toMatch(cause)
})

test.each<[string, object]>([
  ['base64 with line breaks', { ...image, data: 'AAAA\nAAA=' }],
  ['base64 without padding', { ...image, data: 'AA' }],
  ['annotations', { ...text, annotations: { audience: ['user'], priority: 0.5 }, _meta: { a: 1 } }],
  ['an empty document', { ...resource, resource: { uri: 'x:y', text: '' } }],
])('%s passes unchanged', async (_, block) => {
  const { results } = await resultsOf(block)

  expect(results).toMatchObject([{ content: [block] }, { content: [block] }])
})

test('a data URL of the type of the image is sent as base64', async () => {
  const { results } = await resultsOf({ ...image, data: 'data:image/png;base64,iVBORw0KGgo=' })

  for (const { content } of results) expect(content).toEqual([{ ...image, data: 'iVBORw0KGgo=' }])
})
