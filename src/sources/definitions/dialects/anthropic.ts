import { content, toolError } from '../reply.ts'
import { fromMessageContent } from '../results/message-content.ts'
import { withThrownErrors } from '../results/thrown-errors.ts'
import type { ToolContext } from '../tool-definition.ts'
import type { Dialect, Execute } from './dialect.ts'
import { noFunction } from './no-function.ts'
import { toParsedExecute } from './parsed-input.ts'
import {
  addedKeys,
  findExecute,
  findMethod,
  isObject,
  isText,
  type Method,
  noArguments,
  readAddedFields,
} from './shape.ts'

/** `{ name, description, input_schema }`; `betaZodTool()` and `betaTool()` add `run` and `parse`. */
export const anthropic: Dialect = {
  name: 'Anthropic',
  recognise: ({ name, input_schema }) => isText(name) && input_schema !== undefined,
  toToolDefinition(value, { findHandler }) {
    const { name, description, input_schema: schema } = value
    const runnable = findMethod(value, 'run')
    const beside = findExecute(value, 'execute', 'handler', 'func', 'fn', 'call', 'function')
    const execute = runnable ? toRunnable(runnable) : (beside ?? findHandler(String(name)))
    if (!execute) return noFunction(name)
    const parse = findMethod(value, 'parse')
    return {
      definition: {
        ...readAddedFields(value),
        name,
        description,
        schema: schema ?? noArguments,
        execute: parse ? toParsedExecute(parse, execute) : execute,
      },
      fields: { schema: ['input_schema'] },
      reads,
    }
  },
}

const reads = [
  ...addedKeys,
  'name',
  'description',
  'input_schema',
  'run',
  'parse',
  'execute',
  'handler',
  'func',
  'fn',
  'call',
  'function',
  // Meant for the Anthropic API.
  'type',
  'strict',
  'cache_control',
  'input_examples',
  'defer_loading',
  'allowed_callers',
  'eager_input_streaming',
]

/** The SDK's tool runner gives the message of a thrown error to the model, or the content of a `ToolError`. */
const toRunnable = (run: Method): Execute =>
  withThrownErrors(
    async (input, context) => {
      try {
        return await run(input, toRunContext(context))
      } catch (error) {
        if (!isToolError(error)) throw error
        return toolError(error.message, fromMessageContent(error.content))
      }
    },
    (result) => (Array.isArray(result) ? content(fromMessageContent(result)) : result),
  )

function toRunContext(context: ToolContext) {
  const toolUse = { type: 'tool_use', id: context.callId, input: context.rawInput }
  return { toolUse, toolUseBlock: toolUse, signal: context.signal }
}

const isToolError = (error: unknown): error is Error & { readonly content: unknown } =>
  error instanceof Error && isObject(error) && 'content' in error && error.content !== undefined
