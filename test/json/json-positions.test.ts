import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readJson } from '../../src/yaml/read-json.ts'
import { readYaml } from '../../src/yaml/read-yaml.ts'
import { amount, atMost } from '../support/amount.ts'

const file = 'api.json'

function* listPaths(value: unknown, path: readonly PropertyKey[] = []): Generator<PropertyKey[]> {
  yield [...path]
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value))
    yield* listPaths(child, [...path, Array.isArray(value) ? Number(key) : key])
}

const keys = fc.string({ maxLength: 6 }).filter((key) => key !== '__proto__')

const documents = fc.dictionary(
  keys,
  fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
      fc.array(tie('any'), { maxLength: 4 }),
      fc.dictionary(keys, tie('any'), { maxKeys: 4 }),
    ),
  })).any,
)

test('a value in JSON has the position that the YAML parser gives it', () => {
  fc.assert(
    fc.property(documents, fc.constantFrom(undefined, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      const [json, yaml] = [readJson(text, file), readYaml(text, file)]
      for (const path of listPaths(value)) expect(json?.at(path)).toBe(yaml.at(path))
    }),
    { numRuns: amount(100, 2000) },
  )
})

test('a path that does not exist has the position of its nearest ancestor', () => {
  const text = '{ "a": [1, { "b\\"": 2 }],\n  "c": {} }'
  const reading = readJson(text, file)

  expect(reading?.at(['a', 1, 'b"'])).toBe('api.json:1:21')
  expect(reading?.at(['a', 1, 'x', 'y'])).toBe('api.json:1:12')
  expect(reading?.at(['a', 7])).toBe('api.json:1:8')
  expect(reading?.at(['c', 'd'])).toBe('api.json:2:8')
  expect(reading?.at(['e'])).toBe('api.json:1:1')
})

test('text that is not JSON is left to the YAML parser, and nesting is bounded', () => {
  expect(readJson('{ "a": ', file)).toBeUndefined()
  const deep = `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`
  expect(readJson(deep, file)?.faults[0]?.message).toMatch(/nested deeper/)
})

test('thousands of positions in a large document are found at once', () => {
  const names = Array.from({ length: 2000 }, (_, index) => `operation number ${index}`)
  const text = JSON.stringify(
    Object.fromEntries(names.map((name) => [name, { text: 'x'.repeat(60) }])),
    null,
    2,
  )
  const reading = readJson(text, file)
  const startMs = performance.now()

  const positions = names.map((name) => reading?.at([name, 'text']))

  expect(positions.at(-1)).toBe(`api.json:${1999 * 3 + 3}:13`)
  expect(performance.now() - startMs).toBeLessThan(atMost(100))
})
