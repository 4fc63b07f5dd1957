import type { ToolContext } from '../tool-definition.ts'

/** The last value of an async generator: the earlier ones are previews. Any other result as it is. */
export async function toLastValue(result: unknown, context: ToolContext): Promise<unknown> {
  const awaited = await result
  if (!isAsyncIterable(awaited)) return awaited
  let last: unknown
  for await (const value of awaited) {
    last = value
    context.signal.throwIfAborted()
  }
  return last
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value
