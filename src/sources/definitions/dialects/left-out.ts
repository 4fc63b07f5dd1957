import type { Shape } from './dialect.ts'
import { isClass, isObject, isSchema, isShape, isText } from './shape.ts'

export const noSchema =
  "it has no schema of its arguments. Add parameters: { type: 'object', properties: {} } if it takes none"

const schemaFields = ['parameters', 'inputSchema', 'input_schema']

/** Things that look like tools and that no dialect reads, with the reason for the operator. */
const shapes: readonly {
  readonly recognise: (value: Shape) => boolean
  readonly reason: string
}[] = [
  {
    recognise: ({ id, name, type, description, execute }) =>
      isText(id) &&
      name === undefined &&
      type === undefined &&
      isText(description) &&
      typeof execute === 'function',
    reason:
      'it is a Mastra tool, whose execute takes its arguments in another form. Export { name, description, parameters, execute } that calls it',
  },
  {
    recognise: (value) =>
      typeof value.setRequestHandler === 'function' && value._requestHandlers instanceof Map,
    reason:
      'it is a low-level Server of the MCP SDK, whose tools cannot be read. Export an McpServer, or the definitions with a map of handlers',
  },
  {
    recognise: ({ type, execute, run, handler }) =>
      isText(type) && hostedTypes.test(type) && !execute && !run && !handler,
    reason: 'it is run by the provider of the model, so there is nothing to call',
  },
  {
    recognise: (value) =>
      (isText(value.name) || isText(value.description)) &&
      value.schema === undefined &&
      hasFunction(value) &&
      schemaFields.some((field) => value[field] !== undefined) &&
      schemaFields.every((field) => !isShape(value[field])),
    reason: `its schema is not an object. Write parameters: { type: 'object', properties: { … } }`,
  },
  {
    recognise: ({ then }) => typeof then === 'function',
    reason: 'it is a promise. Export what it resolves to: await it in the module',
  },
]

/** Objects that have a part of a tool, with what is missing. Only of plain objects that no dialect reads. */
const parts: typeof shapes = [
  {
    recognise: (value) =>
      isText(value.description) && hasFunction(value) && !Object.keys(value).some(isSchemaField),
    reason: noSchema,
  },
  {
    // What has one of the other fields is a route, a listener or a command.
    recognise: (value) =>
      isText(value.name) &&
      !isText(value.description) &&
      hasFunction(value) &&
      !otherFields.some((field) => field in value),
    reason:
      'it has no description and no schema. Export { name, description, parameters, execute }',
  },
  {
    recognise: (value) => Object.keys(value).join() === 'execute' && hasFunction(value),
    reason: 'it has only a function. Export { description, parameters, execute }',
  },
  {
    recognise: (value) =>
      schemaFields.some((field) => isSchema(value[field])) &&
      Object.keys(value).every((field) => ['name', 'title', ...schemaFields].includes(field)),
    reason: 'it has only a schema. Export { description, parameters, execute }',
  },
]

const functionFields = ['execute', 'handler', 'run', 'func', 'fn', 'invoke', 'callback']
const otherFields = [
  'method',
  'methods',
  'path',
  'url',
  'route',
  'pattern',
  'event',
  'events',
  'alias',
  'aliases',
  'options',
  'version',
]

const isSchemaField = (field: string): boolean => /schema|param|arg|input/i.test(field)

const hasFunction = (value: Shape): boolean =>
  functionFields.some((field) => typeof value[field] === 'function' && !isClass(value[field]))

/** Hosted tools of OpenAI and server tools of Anthropic. */
const hostedTypes =
  /^(web_search|file_search|code_interpreter|computer|image_generation|local_shell|shell|apply_patch|hosted_tool|mcp|custom_tool|bash|text_editor|code_execution|web_fetch|memory)(_preview)?(_\d{4}_?\d{2}_?\d{2})?$/

export const findReason = (value: Shape): string | undefined =>
  shapes.find(({ recognise }) => recognise(value))?.reason

export const findMissing = (value: Shape): string | undefined =>
  parts.find(({ recognise }) => recognise(value))?.reason

/** Has the name and the description of a tool, and a schema or a function. */
export const looksLikeTool = (value: Shape): boolean =>
  (isText(value.name) || isText(value.id)) &&
  isText(value.description) &&
  Object.entries(value).some(
    ([field, part]) =>
      typeof part === 'function' || (/schema|parameters|args/i.test(field) && isObject(part)),
  )
