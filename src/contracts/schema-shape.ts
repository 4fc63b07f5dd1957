import { isPlainObject } from '../json/is-plain-object.ts'
import { findForeignSchema } from './foreign-schema.ts'

const maxDepth = 64
const maxLength = 256 * 1024

/** Checked first: everything else walks the schema. A schema made in code can contain itself. */
export function findShapeFault(schema: unknown): string | undefined {
  const budget = { remaining: maxLength }
  return walk(schema, '', 0, budget)
}

function walk(
  node: unknown,
  pointer: string,
  depth: number,
  budget: { remaining: number },
): string | undefined {
  budget.remaining -= typeof node === 'string' ? node.length + 2 : 2
  if (budget.remaining < 0) return `the schema is longer than ${maxLength} characters as JSON`
  // Zod marks the JSON Schema that it makes: at the root, `convert` has decided already.
  const foreign = pointer === '' ? undefined : findForeignSchema(node)
  if (foreign !== undefined)
    return `${pointer} is a schema of ${foreign} inside a JSON Schema; write the whole schema with one library, or all of it as JSON Schema`
  if (typeof node !== 'object' || node === null) return undefined
  if (depth > maxDepth) return `the schema is nested deeper than ${maxDepth} levels`
  for (const [key, child] of Object.entries(node)) {
    if (key === '__proto__') return `${pointer} has a property named __proto__`
    if (isPlainObject(node)) budget.remaining -= key.length + 4
    const fault = walk(child, `${pointer}/${key}`, depth + 1, budget)
    if (fault) return fault
  }
  return undefined
}
