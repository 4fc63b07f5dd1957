import type { Execute } from '../dialects/dialect.ts'
import { type Reply, toolError } from '../reply.ts'
import type { ToolContext } from '../tool-definition.ts'

const maxLength = 1000

/**
 * For dialects whose library gives the message of a thrown error to the model: authors throw on purpose
 * there. Only the first line is sent, never a stack. Errors that the language, Node or a driver raises
 * are bugs as everywhere else, and their messages never leave the process; so is a result that `toReply`
 * cannot read.
 */
export const withThrownErrors =
  (execute: Execute, toReply: ToReply = (result) => result): Execute =>
  async (input, context) => {
    let result: unknown
    try {
      result = await execute(input, context)
    } catch (error) {
      if (context.signal.aborted || !isDeliberate(error)) throw error
      return toThrownError(error)
    }
    return toReply(result, input, context)
  }

type ToReply = (result: unknown, input: unknown, context: ToolContext) => unknown

const toThrownError = ({ message }: Error): Reply => {
  const [line = ''] = message.split('\n')
  return toolError(line.slice(0, maxLength))
}

/** Names of errors that authors throw for the model; others are those of libraries, such as `ZodError`. */
const toolErrors = new Set([
  'Error',
  'ToolError',
  'UserError',
  'ToolException',
  'ToolInputParsingException',
])

const runtimeErrors = [TypeError, ReferenceError, RangeError, SyntaxError, EvalError, URIError]

function isDeliberate(error: unknown): error is Error {
  if (!(error instanceof Error) || error.message === '') return false
  if (error instanceof AggregateError || runtimeErrors.some((kind) => error instanceof kind))
    return false
  // Errors of MCP have a negative code of JSON-RPC. Other codes are those of Node and of drivers.
  if ('code' in error && error.code !== undefined)
    return typeof error.code === 'number' && error.code < 0
  if ('syscall' in error || 'errno' in error || 'issues' in error) return false
  return toolErrors.has(error.name)
}
