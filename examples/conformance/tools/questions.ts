import { type Answer, ask, defineTool, type Question, z } from 'drawbridge-mcp'

/**
 * A tool that needs input returns `ask(…)`, and is called again with the answers. It is stateless:
 * data for the next round is passed to `ask`, and comes back as `state`.
 */

export const sampling = defineTool({
  name: 'test_sampling',
  description: "Has the client's model answer a prompt.",
  category: 'analysis',
  schema: z.object({ prompt: z.string() }),
  execute: ({ prompt }, { answers }) => {
    const text = textIn(answers.answer)
    return text === undefined
      ? ask({ answer: modelQuestion(prompt, 100) })
      : `LLM response: ${text}`
  },
})

export const missingCapability = defineTool({
  name: 'test_missing_capability',
  description: "Needs the client's model; a client without one is told so.",
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) =>
    textIn(answers.answer) ?? ask({ answer: modelQuestion('Say something.', 100) }),
})

export const streamingElicitation = defineTool({
  name: 'test_streaming_elicitation',
  description: 'Asks a person to confirm.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) => {
    const confirmation = fieldsIn(answers.confirm, z.object({ ok: z.boolean() }))
    return confirmation ? `Confirmed: ${confirmation.ok}` : ask({ confirm: confirmQuestion })
  },
})

export const askPerson = defineTool({
  name: 'test_input_required_result_elicitation',
  description: 'Asks a person for their name.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) => {
    if (isRefusal(answers.user_name)) return 'Hello, whoever you are!'
    const person = fieldsIn(answers.user_name, nameFields)
    return person ? `Hello, ${person.name}!` : ask({ user_name: nameQuestion })
  },
})

export const askModel = defineTool({
  name: 'test_input_required_result_sampling',
  description: "Asks the client's model for a capital.",
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) =>
    textIn(answers.capital_question) ??
    ask({ capital_question: modelQuestion('What is the capital of France?', 100) }),
})

export const askRoots = defineTool({
  name: 'test_input_required_result_list_roots',
  description: 'Asks the client which folders it works in.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) => {
    const roots = rootsIn(answers.client_roots)
    return roots ? `Roots: ${roots.join(', ')}` : ask({ client_roots: { kind: 'roots' } })
  },
})

export const askAllKinds = defineTool({
  name: 'test_input_required_result_multiple_inputs',
  description: 'Asks a person, the model and the client at once.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) => {
    const person = fieldsIn(answers.user_name, nameFields)
    const greeting = textIn(answers.greeting)
    const roots = rootsIn(answers.client_roots)
    if (person && greeting !== undefined && roots)
      return `${greeting} (${person.name}, in ${roots.join(', ')})`
    return ask({
      user_name: nameQuestion,
      greeting: modelQuestion('Generate a greeting', 50),
      client_roots: { kind: 'roots' },
    })
  },
})

export const askByCapability = defineTool({
  name: 'test_input_required_result_capabilities',
  description: 'Asks a person where the client can do that, and its model otherwise.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers, canAsk }) => {
    const name = fieldsIn(answers.user_name, nameFields)?.name ?? textIn(answers.invented_name)
    if (name !== undefined) return `Hello, ${name}!`
    return canAsk('form')
      ? ask({ user_name: nameQuestion })
      : ask({ invented_name: modelQuestion('Invent a name.', 50) })
  },
})

/** The tools are equal; the suite returns the state of one unchanged, and tampers with the other. */
export const stateful = [
  'test_input_required_result_request_state',
  'test_input_required_result_tampered_state',
].map((name) =>
  defineTool({
    name,
    description: 'Asks a person to confirm, and remembers that it did.',
    category: 'analysis',
    schema: z.object({}),
    execute: (_, { answers, state }) => {
      const confirmation = fieldsIn(answers.confirm, z.object({ ok: z.boolean() }))
      return confirmation && state === 'asked'
        ? 'state-ok'
        : ask({ confirm: confirmQuestion }, 'asked')
    },
  }),
)

export const askTwice = defineTool({
  name: 'test_input_required_result_multi_round',
  description: 'Asks a person for a name, and then for a color.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers, state }) => {
    const person = nameFields.safeParse(state).data ?? fieldsIn(answers.step1, nameFields)
    if (!person)
      return ask({ step1: formQuestion('Step 1: What is your name?', { name: stringSchema }) })
    const choice = fieldsIn(answers.step2, z.object({ color: z.string() }))
    if (choice) return `${person.name} likes ${choice.color}.`
    return ask(
      { step2: formQuestion('Step 2: What is your favorite color?', { color: stringSchema }) },
      person,
    )
  },
})

const stringSchema = { type: 'string' }
const nameFields = z.object({ name: z.string() })

const formQuestion = (message: string, properties: Record<string, { type: string }>): Question => ({
  kind: 'form',
  message,
  schema: { type: 'object', properties, required: Object.keys(properties) },
})

const nameQuestion = formQuestion('What is your name?', { name: stringSchema })
const confirmQuestion = formQuestion('Please confirm', { ok: { type: 'boolean' } })

const modelQuestion = (text: string, maxTokens: number): Question => ({
  kind: 'model',
  messages: [{ role: 'user', content: { type: 'text', text } }],
  maxTokens,
})

/** Validates an answer, which is untrusted input. An invalid one counts as missing. */
const fieldsIn = <T>(answer: Answer | undefined, fields: z.ZodType<T>): T | undefined =>
  z.object({ action: z.literal('accept'), content: fields }).safeParse(answer).data?.content

const isRefusal = (answer: Answer | undefined): boolean =>
  answer?.action === 'decline' || answer?.action === 'cancel'

const textIn = (answer: Answer | undefined): string | undefined =>
  z.object({ content: z.object({ text: z.string() }) }).safeParse(answer).data?.content.text

const rootsIn = (answer: Answer | undefined): string[] | undefined =>
  z
    .object({ roots: z.array(z.object({ uri: z.string() })) })
    .safeParse(answer)
    .data?.roots.map(({ uri }) => uri)
