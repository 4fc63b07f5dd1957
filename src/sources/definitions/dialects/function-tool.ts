import type { Dialect, Shape } from './dialect.ts'
import {
  addedKeys,
  findExecute,
  isObject,
  isSchema,
  isShape,
  isText,
  readAddedFields,
} from './shape.ts'
import { toSchema } from './wrapped-schema.ts'

/** `{ name, description, parameters, handler }` and its variants, as projects write it without a library. */
export const functionTool: Dialect = {
  name: 'name, schema and function',
  recognise: (value) =>
    (isText(value.name) ||
      // Without a name and a description, only what nothing else than a tool has.
      (value.name === undefined && (isText(value.description) || isSchema(value.parameters)))) &&
    findSchemaField(value) !== undefined &&
    findFunction(value) !== undefined,
  toToolDefinition(value, { key }) {
    const schemaField = findSchemaField(value) ?? 'schema'
    return {
      definition: {
        ...readAddedFields(value),
        name: value.name ?? key,
        title: value.title,
        description: value.description,
        schema: toSchema(value[schemaField]),
        outputSchema: toSchema(value.outputSchema),
        execute: findFunction(value),
      },
      fields: { schema: [schemaField] },
      reads: [
        ...addedKeys,
        ...schemaFields,
        ...functionFields,
        'name',
        'title',
        'description',
        'outputSchema',
        'strict',
      ],
    }
  },
}

const schemaFields = [
  'parameters',
  'inputSchema',
  'input_schema',
  'schema',
  'argsSchema',
  'input',
  'args',
]
const functionFields = [
  'handler',
  'run',
  'func',
  'fn',
  'function',
  'callback',
  'call',
  'invoke',
  'action',
  'implementation',
  '_call',
]

const findSchemaField = (value: Shape): string | undefined =>
  schemaFields.find(
    (field) => isShape(value[field]) && (isObject(value[field]) || '~standard' in value[field]),
  )

/** The function of the object, under any of the names that projects give it. */
export const findFunction = (value: Shape) => findExecute(value, ...functionFields)
