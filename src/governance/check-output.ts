import { z } from 'zod'
import type { Call } from '../capability/call.ts'
import type { Content } from '../capability/content.ts'
import type { Contract } from '../capability/contract.ts'
import type { Json } from '../capability/json.ts'
import type { Asking, Done, Failed, Outcome } from '../capability/outcome.ts'
import type { Question } from '../capability/question.ts'
import { type Allowance, clean, Unclean } from './clean.ts'
import { refused } from './failures.ts'
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

async function cleanDone(call: Call, outcome: Done, allowance: Allowance): Promise<Outcome> {
  const { data, content, ...rest } = outcome
  const { output } = call.capability
  const plain = clean(data, allowance)
  const kept = output ? await keepPromise(call, output, plain) : { data: plain }
  if ('kind' in kept) return kept
  const blocks =
    content === undefined ? undefined : blocksShape.safeParse(clean(content, allowance))
  if (blocks?.success === false)
    return broken(call, `its content is not valid: ${blocks.error.message}`)
  return {
    ...rest,
    ...(kept.data !== undefined && { data: kept.data }),
    ...(blocks && { content: blocks.data as readonly Content[] }),
  }
}

async function keepPromise(
  call: Call,
  output: Contract,
  data: Json | undefined,
): Promise<{ readonly data: Json | undefined } | Failed> {
  const reading = output.parse(data)
  const parsed = reading instanceof Promise ? await reading : reading
  if (parsed.ok) return { data: parsed.value as Json }
  const places = parsed.issues.map(({ pointer, message }) => `${pointer || '/'} ${message}`)
  return broken(call, `broke its output schema: ${places.join('; ')}`)
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

const tooLarge = ({ capability }: Call, largest: number): Failed =>
  refused(
    'result_too_large',
    `The answer of ${capability.name} is larger than ${largest} characters and was not sent. Ask for less: a filter, fewer fields, a smaller page.`,
    { details: { limit: largest } },
  )

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
