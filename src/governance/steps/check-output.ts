import { z } from 'zod'
import type { Call } from '../../capability/call.ts'
import type { Content } from '../../capability/content.ts'
import type { Parsed } from '../../capability/contract.ts'
import type { Json } from '../../capability/json.ts'
import type { Asking, Done, Failed, Outcome } from '../../capability/outcome.ts'
import type { Question } from '../../capability/question.ts'
import { type Allowance, clean, Unclean } from '../clean.ts'
import { refused } from '../failures.ts'
import type { Step } from './step.ts'

/** What leaves is JSON, of bearable size, and what the capability promised. */
export const checkOutput =
  (largest: number): Step =>
  async (call, next) => {
    const outcome = await next(call)
    try {
      return await toClean(call, outcome, { left: largest })
    } catch (error) {
      if (!(error instanceof Unclean)) throw error
      return error.reason === 'too_large'
        ? tooLarge(call, largest)
        : broken(call, `answered with something JSON cannot carry: ${error.message}`)
    }
  }

function toClean(call: Call, outcome: Outcome, allowance: Allowance): Outcome | Promise<Outcome> {
  switch (outcome.kind) {
    case 'done':
      return cleanDone(call, outcome, allowance)
    case 'asking':
      return cleanAsking(call, outcome, allowance)
    case 'failed':
      return cleanFailed(outcome, allowance)
  }
}

/** Not async: most answers are looked at without waiting for anything. */
function cleanDone(call: Call, outcome: Done, allowance: Allowance): Outcome | Promise<Outcome> {
  const data = clean(outcome.data, allowance)
  const content = outcome.content === undefined ? undefined : clean(outcome.content, allowance)
  const parsed = call.capability.output?.parse(data) ?? { ok: true, value: data }
  return parsed instanceof Promise
    ? parsed.then((one) => toKept(call, outcome, one, content))
    : toKept(call, outcome, parsed, content)
}

function toKept(call: Call, outcome: Done, data: Parsed, content: Json | undefined): Outcome {
  if (!data.ok) {
    const places = data.issues.map(({ pointer, message }) => `${pointer || '/'} ${message}`)
    return broken(call, `broke its output schema: ${places.join('; ')}`)
  }
  const kept = { ...outcome, data: data.value }
  if (content === undefined) return kept
  const blocks = blocksShape.safeParse(content)
  return blocks.success
    ? { ...kept, content: blocks.data as readonly Content[] }
    : broken(call, `its content is not valid: ${blocks.error.message}`)
}

function cleanAsking(call: Call, { questions, state }: Asking, allowance: Allowance): Outcome {
  const parsed = questionsShape.safeParse(clean(questions, allowance))
  if (!parsed.success) return broken(call, `asks what cannot be asked: ${parsed.error.message}`)
  const remembered = clean(state, allowance)
  return {
    kind: 'asking',
    questions: parsed.data as Readonly<Record<string, Question>>,
    ...(remembered !== undefined && { state: remembered }),
  }
}

/** The cause stays as it is: it never leaves. */
function cleanFailed(outcome: Failed, allowance: Allowance): Failed {
  const { cause, ...failure } = outcome.failure
  return {
    ...outcome,
    failure: {
      ...(clean(failure, allowance) as object as Failed['failure']),
      ...(cause !== undefined && { cause }),
    },
  }
}

function tooLarge({ capability }: Call, largest: number): Failed {
  const advice = capability.effects.writes
    ? 'It took effect all the same: do not call it again for the answer.'
    : 'Ask for less: a filter, fewer fields, a smaller page.'
  const message = `The answer of ${capability.name} is larger than ${largest} characters and was not sent. ${advice}`
  return refused('result_too_large', message, { details: { limit: largest } })
}

const broken = ({ capability }: Call, what: string): Failed =>
  refused('invalid_output', 'The answer did not have the promised form.', {
    cause: `${capability.name} ${what}`,
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
