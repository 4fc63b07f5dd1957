import type { StandardSchema } from '../../../contracts/contract-from-standard-schema.ts'
import { findMethod, isObject } from './shape.ts'

/**
 * A schema without the wrapper of the Vercel AI SDK: `jsonSchema(…)` and `zodSchema(…)` return
 * `{ jsonSchema, validate }`, and a schema may be a function that creates it.
 */
export function toSchema(schema: unknown): unknown {
  if (typeof schema === 'function' && !('~standard' in schema)) return toSchema(schema())
  if (!isObject(schema) || '~standard' in schema || '_zod' in schema) return schema
  const { jsonSchema } = schema
  const validate = findMethod(schema, 'validate')
  if (!isObject(jsonSchema)) return schema
  if (jsonSchema instanceof Promise || 'then' in jsonSchema)
    throw new Error('The schema is loaded asynchronously. Await it before the tool is defined.')
  return validate ? toStandardSchema(jsonSchema, validate) : jsonSchema
}

function toStandardSchema(
  jsonSchema: Readonly<Record<string, unknown>>,
  validate: (value: unknown) => unknown,
): StandardSchema {
  const toJsonSchema = () => ({ ...jsonSchema })
  return {
    '~standard': {
      vendor: 'ai',
      jsonSchema: { input: toJsonSchema, output: toJsonSchema },
      validate: async (value) => {
        const result = await validate(value)
        if (isObject(result) && result.success === true) return { value: result.value }
        return { issues: toIssues(isObject(result) ? result.error : undefined) }
      },
    },
  }
}

/** The issues of Zod, which the SDK passes on as the error or its cause. */
function toIssues(error: unknown): readonly { message: string; path?: readonly PropertyKey[] }[] {
  if (!isObject(error)) return [{ message: 'is invalid' }]
  if (Array.isArray(error.issues) && error.issues.length > 0) return error.issues
  if (isObject(error.cause)) return toIssues(error.cause)
  return [{ message: typeof error.message === 'string' ? error.message : 'is invalid' }]
}
