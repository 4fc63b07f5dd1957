import { text } from '../../capability/content.ts'
import { type Done, done, type Outcome } from '../../capability/outcome.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toolFailed } from './failures.ts'
import { isReply, outcomeOf } from './reply.ts'
import type { ToolResult } from './tool-definition.ts'

/** Converts what `execute` returned: a reply, a `ToolResult`, or plain data. */
export function toOutcome(
  result: unknown,
  toText: ((data: unknown) => string) | undefined,
): Outcome {
  if (isReply(result)) return outcomeOf(result)
  if (!isToolResult(result)) return withText(done(result), toText)
  if (typeof result.error === 'string') return toolFailed('tool_error', result.error)
  const { data, fetchedAt, cost } = result
  return withText({ kind: 'done', data, fetchedAt, ...(cost !== undefined && { cost }) }, toText)
}

const withText = (outcome: Done, toText: ((data: unknown) => string) | undefined): Outcome =>
  toText ? { ...outcome, content: [text(toText(outcome.data))] } : outcome

/** Requires `tool`, `fetchedAt` and `data` or `error`, so that plain data is not mistaken for one. */
const isToolResult = (value: unknown): value is ToolResult =>
  isPlainObject(value) &&
  typeof value.tool === 'string' &&
  typeof value.fetchedAt === 'string' &&
  ('data' in value || 'error' in value)
