import type { Dialect } from './dialect.ts'
import { addedKeys, findMethod, isText, readAddedFields } from './shape.ts'

/** Our own definitions. The last dialect: it takes everything that means to be one, to report what is wrong. */
export const drawbridge: Dialect = {
  name: 'Drawbridge',
  recognise: (value) =>
    ('execute' in value && ('name' in value || 'description' in value || 'schema' in value)) ||
    (isText(value.name) && 'schema' in value),
  toToolDefinition(value, { key, findHandler }) {
    const { name = key, title, description, schema, outputSchema, execute } = value
    return {
      definition: {
        ...readAddedFields(value),
        name,
        title,
        description,
        schema,
        outputSchema,
        execute: findMethod(value, 'execute') ?? execute ?? findHandler(String(name)),
      },
      reads,
    }
  },
}

const reads = [...addedKeys, 'name', 'title', 'description', 'schema', 'outputSchema', 'execute']
