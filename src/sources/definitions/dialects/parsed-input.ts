import { toolError } from '../reply.ts'
import type { Execute } from './dialect.ts'

/** Calls a function with the arguments as the tool's own parser reads them; what it rejects is an error of the model. */
export const toParsedExecute =
  (parse: (rawInput: unknown) => unknown, execute: Execute): Execute =>
  async (_, context) => {
    let input: unknown
    try {
      input = await parse(context.rawInput ?? {})
    } catch (error) {
      return toolError(`The arguments are invalid: ${toReason(error)}`)
    }
    return execute(input, context)
  }

function toReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { issues } = error as {
    issues?: readonly { path?: readonly PropertyKey[]; message?: string }[]
  }
  if (!Array.isArray(issues)) return error.message.split('\n')[0] ?? ''
  return issues
    .map(({ path = [], message }) => `/${path.map(String).join('/')} ${message}`)
    .join('; ')
}
