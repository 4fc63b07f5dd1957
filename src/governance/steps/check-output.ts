import { z } from 'zod'
import type { Call } from '../../capability/call.ts'
import type { Content } from '../../capability/content.ts'
import type { Parsed } from '../../capability/contract.ts'
import type { Json } from '../../capability/json.ts'
import type { Asking, Done, Failed, Outcome } from '../../capability/outcome.ts'
import type { Question } from '../../capability/question.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { copyAsJson, JsonCopyError, type SizeLimit } from '../copy-as-json.ts'
import { refused } from '../failures.ts'
import type { Step } from './step.ts'

/** Results must be plain JSON, within the size limit, and match the output contract. */
export const checkOutput =
  (maxChars: number): Step =>
  (call, next) =>
    next(call).then((outcome) => {
      try {
        return sanitize(call, outcome, { remainingChars: maxChars })
      } catch (error) {
        if (!(error instanceof JsonCopyError)) throw error
        return error.reason === 'too_large'
          ? tooLarge(call, maxChars)
          : invalidOutput(call, `returned a value that is not JSON: ${error.message}`)
      }
    })

function sanitize(call: Call, outcome: Outcome, limit: SizeLimit): Outcome | Promise<Outcome> {
  switch (outcome.kind) {
    case 'done':
      return sanitizeDone(call, outcome, limit)
    case 'asking':
      return sanitizeAsking(call, outcome, limit)
    case 'failed':
      return sanitizeFailed(outcome, limit)
  }
}

/** Synchronous where the contract is: most results need no extra promise. */
function sanitizeDone(call: Call, outcome: Done, limit: SizeLimit): Outcome | Promise<Outcome> {
  // A returned error is a bug of the tool like a thrown one.
  if (outcome.data instanceof Error) throw outcome.data
  const data = copyAsJson(outcome.data, limit)
  const content = outcome.content === undefined ? undefined : copyAsJson(outcome.content, limit)
  const parsed = call.capability.output?.parse(data) ?? { ok: true, value: data }
  return parsed instanceof Promise
    ? parsed.then((result) => toValidated(call, outcome, result, content))
    : toValidated(call, outcome, parsed, content)
}

function toValidated(call: Call, outcome: Done, data: Parsed, content: Json | undefined): Outcome {
  if (!data.ok) {
    const issues = data.issues.map(({ pointer, message }) => `${pointer || '/'} ${message}`)
    return invalidOutput(call, `violated its output schema: ${issues.join('; ')}`)
  }
  const validOutcome = { ...outcome, data: data.value }
  if (content === undefined) return validOutcome
  const blocks = blocksShape.safeParse(content)
  return blocks.success
    ? { ...validOutcome, content: blocks.data as readonly Content[] }
    : invalidOutput(call, `returned invalid content blocks: ${blocks.error.message}`)
}

function sanitizeAsking(call: Call, { questions, state }: Asking, limit: SizeLimit): Outcome {
  const parsed = questionsShape.safeParse(copyAsJson(questions, limit))
  if (!parsed.success)
    return invalidOutput(call, `returned invalid questions: ${parsed.error.message}`)
  return dropUndefined({
    kind: 'asking' as const,
    questions: parsed.data as Readonly<Record<string, Question>>,
    state: copyAsJson(state, limit),
  })
}

/** Keeps the cause as it is: it is only logged. */
function sanitizeFailed(outcome: Failed, limit: SizeLimit): Failed {
  const { cause, ...failure } = outcome.failure
  return {
    ...outcome,
    failure: {
      ...(copyAsJson(failure, limit) as object as Failed['failure']),
      ...dropUndefined({ cause }),
    },
  }
}

function tooLarge({ capability }: Call, maxChars: number): Failed {
  const advice = capability.effects.writes
    ? 'It took effect nevertheless: do not call it again to get the result.'
    : 'Ask for less: a filter, fewer fields, a smaller page.'
  const message = `The result of ${capability.name} is larger than ${maxChars} characters and was not sent. ${advice}`
  return refused('result_too_large', message, { details: { limit: maxChars } })
}

const invalidOutput = ({ capability }: Call, reason: string): Failed =>
  refused('invalid_output', 'The tool returned an invalid result.', {
    cause: `${capability.name} ${reason}`,
  })

const media = { data: z.string(), mimeType: z.string() }

const contentShape = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image'), ...media }),
  z.looseObject({ type: z.literal('audio'), ...media }),
  z.looseObject({ type: z.literal('resource'), resource: z.looseObject({ uri: z.string() }) }),
  z.looseObject({ type: z.literal('resource_link'), uri: z.string(), name: z.string() }),
])

const blocksShape = z.array(contentShape)

const questionsShape = z.record(
  z.string(),
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('form'), message: z.string(), schema: z.looseObject({}) }),
    z.object({ kind: z.literal('link'), message: z.string(), url: z.string() }),
    z.object({
      kind: z.literal('model'),
      messages: z.array(z.object({ role: z.enum(['user', 'assistant']), content: contentShape })),
      maxTokens: z.number(),
      systemPrompt: z.string().optional(),
    }),
    z.object({ kind: z.literal('roots') }),
  ]),
)
