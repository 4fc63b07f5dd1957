import type { Shape } from './dialect.ts'
import { isObject, isText } from './shape.ts'

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
    recognise: ({ then }) => typeof then === 'function',
    reason: 'it is a promise. Export what it resolves to: await it in the module',
  },
]

/** Hosted tools of OpenAI and server tools of Anthropic. */
const hostedTypes =
  /^(web_search|file_search|code_interpreter|computer|image_generation|local_shell|shell|apply_patch|hosted_tool|mcp|custom_tool|bash|text_editor|code_execution|web_fetch|memory)(_preview)?(_\d{4}_?\d{2}_?\d{2})?$/

export const findReason = (value: Shape): string | undefined =>
  shapes.find(({ recognise }) => recognise(value))?.reason

/** Has the name and the description of a tool, and a schema or a function. */
export const looksLikeTool = (value: Shape): boolean =>
  (isText(value.name) || isText(value.id)) &&
  isText(value.description) &&
  Object.entries(value).some(
    ([field, part]) =>
      typeof part === 'function' || (/schema|parameters|args/i.test(field) && isObject(part)),
  )
