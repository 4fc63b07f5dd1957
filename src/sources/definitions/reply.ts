import type { Content } from '../../capability/content.ts'
import type { Json } from '../../capability/json.ts'
import type { Asking, Done, Outcome } from '../../capability/outcome.ts'
import type { Question } from '../../capability/question.ts'

/** Shared by every copy of this package, so that a tool may bring its own. */
const mark = Symbol.for('dev.drawbridge/reply')

/** An answer that is more than data: made by `ask` and `content`, and by nothing a record holds. */
export interface Reply {
  readonly [mark]: Outcome
}

const toReply = (outcome: Outcome): Reply => ({ [mark]: outcome })

export const isReply = (value: unknown): value is Reply =>
  typeof value === 'object' && value !== null && mark in value

export const toOutcome = (reply: Reply): Outcome => reply[mark]

/** Asks before going on: the same call comes again with `context.answers` and `context.state`. */
export const ask = (questions: Readonly<Record<string, Question>>, state?: Json): Reply =>
  toReply({ kind: 'asking', questions, ...(state !== undefined && { state }) } satisfies Asking)

/** Answers with blocks of text, images, audio or documents, and with data beside them if given. */
export const content = (blocks: readonly Content[], data?: unknown): Reply =>
  toReply({ kind: 'done', content: blocks, ...(data !== undefined && { data }) } satisfies Done)
