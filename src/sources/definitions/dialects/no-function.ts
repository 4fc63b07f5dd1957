import type { LeftOut } from './dialect.ts'

/** A definition for which no function is exported. */
export function noFunction(name: unknown): LeftOut {
  const key = typeof name === 'string' ? name : 'its name'
  return {
    leftOut: `it has no function. Export one named ${key}, or a map such as handlers = { ${key}: (input) => … }`,
    code: 'function_missing',
    severity: 'error',
  }
}
