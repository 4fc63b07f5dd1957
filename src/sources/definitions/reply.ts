import type { Content } from '../../capability/content.ts'
import type { FailureOptions } from '../../capability/failure.ts'
import type { Json } from '../../capability/json.ts'
import { done, type Outcome } from '../../capability/outcome.ts'
import type { Question } from '../../capability/question.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { toolFailed } from './failures.ts'

/** Global symbol registry: replies of another installed copy of this package are recognised too. */
const outcomeKey = Symbol.for('dev.drawbridge/reply')

/**
 * The result of `ask` or `content`. Return it from `execute`, `render` or `read`. The symbol key
 * cannot occur in JSON data, so plain data is never mistaken for a reply.
 */
export interface Reply {
  readonly [outcomeKey]: Outcome
}

export const isReply = (value: unknown): value is Reply =>
  typeof value === 'object' && value !== null && outcomeKey in value

export const outcomeOf = (reply: Reply): Outcome => reply[outcomeKey]

/**
 * Asks the client before going on. The call is repeated with the answers in `context.answers`, by
 * the same keys, and with `state` in `context.state`. `context.canAsk(kind)` tells beforehand
 * whether the client supports a kind of question.
 *
 * @example
 * ```ts
 * import { ask, defineTool, z } from 'drawbridge-mcp'
 *
 * export const cancelOrder = defineTool({
 *   name: 'cancel_order',
 *   description: 'Cancels an order, after the user has confirmed it.',
 *   category: 'write',
 *   schema: z.object({ order: z.string() }),
 *   execute: ({ order }, { answers }) => {
 *     if (answers.sure) return answers.sure.action === 'accept' ? 'Cancelled.' : 'Not cancelled.'
 *     const schema = { type: 'object', properties: {} }
 *     return ask({ sure: { kind: 'form', message: `Cancel ${order}?`, schema } })
 *   },
 * })
 * ```
 */
export const ask = (questions: Readonly<Record<string, Question>>, state?: Json): Reply => ({
  [outcomeKey]: { kind: 'asking', questions, ...dropUndefined({ state }) },
})

/**
 * Answers with blocks of text, images, audio or documents. `data` becomes `structuredContent`; give
 * it when the tool has an `outputSchema`.
 *
 * @example
 * ```ts
 * import { readFile } from 'node:fs/promises'
 * import { content, defineTool, z } from 'drawbridge-mcp'
 *
 * export const showRadar = defineTool({
 *   name: 'show_radar',
 *   description: 'Shows the current rain radar.',
 *   category: 'read',
 *   schema: z.object({}),
 *   execute: async () => {
 *     const data = await readFile('radar.png', 'base64')
 *     return content([{ type: 'image', data, mimeType: 'image/png' }])
 *   },
 * })
 * ```
 */
export const content = (blocks: readonly Content[], data?: unknown): Reply => ({
  [outcomeKey]: { kind: 'done', content: blocks, ...dropUndefined({ data }) },
})

/** Answers with data, which the pipeline renders as text too. */
export const data = (value: unknown): Reply => ({ [outcomeKey]: done(value) })

/** Answers with an error that the model reads: as `Error: …`, or as the blocks. */
export const toolError = (
  message: string,
  blocks?: readonly Content[],
  details?: FailureOptions['details'],
): Reply => ({
  [outcomeKey]: {
    ...toolFailed('tool_error', message, dropUndefined({ details })),
    ...dropUndefined({ content: blocks }),
  },
})
