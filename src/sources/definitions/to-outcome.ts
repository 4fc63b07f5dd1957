import { text } from '../../capability/content.ts'
import { type Done, done, type Outcome } from '../../capability/outcome.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toolFailed } from './failures.ts'
import { isReply, outcomeOf } from './reply.ts'
import { isMcpResult, toReply } from './results/mcp-result.ts'
import { toBinaryOutcome } from './to-binary-outcome.ts'
import type { ToolResult } from './tool-definition.ts'

/** Converts what `execute` returned: a reply, a `ToolResult`, an MCP result, bytes, or plain data. */
export function toOutcome(
  result: unknown,
  { text: toText, outputSchema }: Rendering,
): Outcome | Promise<Outcome> {
  if (isReply(result)) return outcomeOf(result)
  // With an output schema, an object that has only `content` may be the data itself.
  if (isMcpResult(result) && (outputSchema === undefined || 'structuredContent' in result))
    return outcomeOf(toReply(result))
  // With an output schema or a text of its own, bytes are data.
  const binary = outputSchema === undefined && !toText ? toBinaryOutcome(result) : undefined
  if (binary) return binary
  if (!isToolResult(result)) return withText(done(result), toText)
  if (typeof result.error === 'string') return toolFailed('tool_error', result.error)
  const { data, fetchedAt, cost } = result
  return withText({ kind: 'done', data, fetchedAt, ...(cost !== undefined && { cost }) }, toText)
}

/** The parts of a definition that decide about its results. */
interface Rendering {
  readonly text?: ((data: unknown) => string) | undefined
  readonly outputSchema?: unknown
}

const withText = (outcome: Done, toText: ((data: unknown) => string) | undefined): Outcome =>
  toText ? { ...outcome, content: [text(toText(outcome.data))] } : outcome

/** Requires `tool`, `fetchedAt` and `data` or `error`, so that plain data is not mistaken for one. */
const isToolResult = (value: unknown): value is ToolResult =>
  isPlainObject(value) &&
  typeof value.tool === 'string' &&
  typeof value.fetchedAt === 'string' &&
  ('data' in value || 'error' in value)
