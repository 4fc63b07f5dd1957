import { z } from 'zod'
import type { Call } from '../../capability/call.ts'
import type { Content } from '../../capability/content.ts'
import type { Parsed } from '../../capability/contract.ts'
import type { Json } from '../../capability/json.ts'
import type { Asking, Done, Failed, Outcome } from '../../capability/outcome.ts'
import type { Question } from '../../capability/question.ts'
import { whenDone } from '../../capability/when-done.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { JsonValueError } from '../../json/json-value-error.ts'
import { type SizeLimit, toJsonValue, toJsonValueNow } from '../../json/to-json-value.ts'
import { refused } from '../failures.ts'
import { contentShape } from './content-shape.ts'
import type { Step } from './step.ts'

/** Results are converted to plain JSON, within the size limit, and must match the output contract. */
export const checkOutput =
  (maxChars: number): Step =>
  (call, next) => {
    const toFailed = (error: unknown): Failed => toNotJson(call, error, maxChars)
    return next(call).then((outcome) => {
      try {
        const valid = sanitize(call, outcome, { remainingChars: maxChars })
        return valid instanceof Promise ? valid.catch(toFailed) : valid
      } catch (error) {
        return toFailed(error)
      }
    })
  }

function toNotJson(call: Call, error: unknown, maxChars: number): Failed {
  if (!(error instanceof JsonValueError)) throw error
  return error.reason === 'too_large'
    ? tooLarge(call, maxChars)
    : invalidOutput(call, `returned a value that is not JSON: ${error.describe()}`)
}

function sanitize(call: Call, outcome: Outcome, limit: SizeLimit): Outcome | Promise<Outcome> {
  switch (outcome.kind) {
    case 'done':
      return sanitizeDone(call, outcome, limit)
    case 'asking':
      return sanitizeAsking(call, outcome, limit)
    case 'failed':
      return sanitizeFailed(call, outcome, limit)
  }
}

/** Synchronous where the contract is: most results need no extra promise. */
function sanitizeDone(call: Call, outcome: Done, limit: SizeLimit): Outcome | Promise<Outcome> {
  // A returned error is a bug of the tool like a thrown one.
  if (outcome.data instanceof Error) throw outcome.data
  const content = outcome.content === undefined ? undefined : toJsonValue(outcome.content, limit)
  return whenDone(toValidData(call, outcome.data, limit), (data) =>
    content instanceof Promise
      ? content.then((blocks) => toValidated(call, outcome, data, blocks))
      : toValidated(call, outcome, data, content),
  )
}

/** The data as JSON that the output contract accepts. */
function toValidData(
  { capability: { output } }: Call,
  data: unknown,
  limit: SizeLimit,
): Parsed | Promise<Parsed> {
  if (!output) return whenDone(toJsonValue(data, limit), toParsed)
  if (!output.takesLiveValues)
    return whenDone(toJsonValue(data, limit), (json) => output.parse(json))
  return whenDone(output.parse(data), (live) => {
    if (live.ok) return whenDone(toJsonValue(live.value, limit), toParsed)
    // The schema may describe what the value is as JSON: a string where the value has a Date or an id object.
    return whenDone(toJsonValue(data, { ...limit }), (json) =>
      whenDone(output.parse(json), (parsed) =>
        parsed.ok ? whenDone(toJsonValue(parsed.value, limit), toParsed) : live,
      ),
    )
  })
}

const toParsed = (value: unknown): Parsed => ({ ok: true, value })

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
  const parsed = questionsShape.safeParse(toJsonValueNow(questions, limit))
  if (!parsed.success)
    return invalidOutput(call, `returned invalid questions: ${parsed.error.message}`)
  return dropUndefined({
    kind: 'asking' as const,
    questions: parsed.data as Readonly<Record<string, Question>>,
    state: toJsonValueNow(state, limit),
  })
}

/** Keeps the cause as it is: it is only logged. */
function sanitizeFailed(call: Call, outcome: Failed, limit: SizeLimit): Failed {
  const { cause, ...failure } = outcome.failure
  const sanitized = {
    ...outcome,
    failure: {
      ...(toJsonValueNow(failure, limit) as object as Failed['failure']),
      ...dropUndefined({ cause }),
    },
  }
  if (outcome.content === undefined) return sanitized
  const blocks = blocksShape.safeParse(toJsonValueNow(outcome.content, limit))
  return blocks.success
    ? { ...sanitized, content: blocks.data as readonly Content[] }
    : invalidOutput(call, `returned invalid content blocks: ${blocks.error.message}`)
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
