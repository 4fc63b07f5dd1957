import { expect, test } from 'vitest'
import {
  createDrawbridge,
  type DrawbridgeOptions,
  defineTool,
  SetupError,
  z,
} from '../../src/index.ts'

const ping = defineTool({
  name: 'ping',
  description: 'Answers.',
  category: 'analysis',
  schema: z.object({}),
  execute: () => 'pong',
})

test.each<[string, object, RegExp]>([
  ['a misspelt name', { sources: [], polcy: {} }, /"polcy".*"policy"/],
  ['no sources', {}, /"sources" must be an array/],
  ['a definition as a source', { sources: [ping] }, /sources\[0\].*definitionSource/],
  ['an empty object as a source', { sources: [{}] }, /sources\[0\]/],
  ['a misspelt key of the policy', { sources: [], policy: { ruls: [] } }, /policy: .*"ruls"/],
])('options with %s are refused with a SetupError', (_, options, message) => {
  const create = () => createDrawbridge(options as DrawbridgeOptions)

  expect(create).toThrow(SetupError)
  expect(create).toThrow(message)
})
