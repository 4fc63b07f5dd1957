import { type Answer, ask, defineTool, type Question, z } from 'drawbridge-mcp'

/**
 * A tool that needs to know more returns `ask(…)`, and is called again with what was answered. It
 * keeps nothing in between: what it has to remember it hands to `ask`, and finds in `state`.
 */

export const sampling = defineTool({
  name: 'test_sampling',
  description: "Has the client's model answer a prompt.",
  category: 'analysis',
  schema: z.object({ prompt: z.string() }),
  execute: ({ prompt }, { answers }) => {
    const said = wordsIn(answers.answer)
    return said === undefined ? ask({ answer: model(prompt, 100) }) : `LLM response: ${said}`
  },
})

export const missingCapability = defineTool({
  name: 'test_missing_capability',
  description: "Needs the client's model; a client without one is told so.",
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) =>
    wordsIn(answers.answer) ?? ask({ answer: model('Say something.', 100) }),
})

export const streamingElicitation = defineTool({
  name: 'test_streaming_elicitation',
  description: 'Asks a person to confirm.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) => {
    const given = fieldsIn(answers.confirm, z.object({ ok: z.boolean() }))
    return given ? `Confirmed: ${given.ok}` : ask({ confirm: confirmation })
  },
})

export const askPerson = defineTool({
  name: 'test_input_required_result_elicitation',
  description: 'Asks a person for their name.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) => {
    if (saidNo(answers.user_name)) return 'Hello, whoever you are!'
    const person = fieldsIn(answers.user_name, named)
    return person ? `Hello, ${person.name}!` : ask({ user_name: nameQuestion })
  },
})

export const askModel = defineTool({
  name: 'test_input_required_result_sampling',
  description: "Asks the client's model for a capital.",
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) =>
    wordsIn(answers.capital_question) ??
    ask({ capital_question: model('What is the capital of France?', 100) }),
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

export const askEverybody = defineTool({
  name: 'test_input_required_result_multiple_inputs',
  description: 'Asks a person, the model and the client at once.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) => {
    const person = fieldsIn(answers.user_name, named)
    const greeting = wordsIn(answers.greeting)
    const roots = rootsIn(answers.client_roots)
    if (person && greeting !== undefined && roots)
      return `${greeting} (${person.name}, in ${roots.join(', ')})`
    return ask({
      user_name: nameQuestion,
      greeting: model('Generate a greeting', 50),
      client_roots: { kind: 'roots' },
    })
  },
})

export const askWhatIsPossible = defineTool({
  name: 'test_input_required_result_capabilities',
  description: 'Asks a person where the client can do that, and its model otherwise.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers, canAsk }) => {
    const name = fieldsIn(answers.user_name, named)?.name ?? wordsIn(answers.invented_name)
    if (name !== undefined) return `Hello, ${name}!`
    return canAsk('form')
      ? ask({ user_name: nameQuestion })
      : ask({ invented_name: model('Invent a name.', 50) })
  },
})

/** These two differ only in what the suite does with the state on its way back. */
export const remembering = [
  'test_input_required_result_request_state',
  'test_input_required_result_tampered_state',
].map((name) =>
  defineTool({
    name,
    description: 'Asks a person to confirm, and remembers that it did.',
    category: 'analysis',
    schema: z.object({}),
    execute: (_, { answers, state }) => {
      const given = fieldsIn(answers.confirm, z.object({ ok: z.boolean() }))
      return given && state === 'asked' ? 'state-ok' : ask({ confirm: confirmation }, 'asked')
    },
  }),
)

export const askTwice = defineTool({
  name: 'test_input_required_result_multi_round',
  description: 'Asks a person for a name, and then for a color.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers, state }) => {
    const known = named.safeParse(state).data ?? fieldsIn(answers.step1, named)
    if (!known) return ask({ step1: form('Step 1: What is your name?', { name: string }) })
    const chosen = fieldsIn(answers.step2, z.object({ color: z.string() }))
    if (chosen) return `${known.name} likes ${chosen.color}.`
    return ask({ step2: form('Step 2: What is your favorite color?', { color: string }) }, known)
  },
})

const string = { type: 'string' }
const named = z.object({ name: z.string() })

const form = (message: string, properties: Record<string, { type: string }>): Question => ({
  kind: 'form',
  message,
  schema: { type: 'object', properties, required: Object.keys(properties) },
})

const nameQuestion = form('What is your name?', { name: string })
const confirmation = form('Please confirm', { ok: { type: 'boolean' } })

const model = (text: string, maxTokens: number): Question => ({
  kind: 'model',
  messages: [{ role: 'user', content: { type: 'text', text } }],
  maxTokens,
})

/** An answer is as untrusted as any argument: one of the wrong form was not given. */
const fieldsIn = <T>(answer: Answer | undefined, fields: z.ZodType<T>): T | undefined =>
  z.object({ action: z.literal('accept'), content: fields }).safeParse(answer).data?.content

const saidNo = (answer: Answer | undefined): boolean =>
  answer?.action === 'decline' || answer?.action === 'cancel'

const wordsIn = (answer: Answer | undefined): string | undefined =>
  z.object({ content: z.object({ text: z.string() }) }).safeParse(answer).data?.content.text

const rootsIn = (answer: Answer | undefined): string[] | undefined =>
  z
    .object({ roots: z.array(z.object({ uri: z.string() })) })
    .safeParse(answer)
    .data?.roots.map(({ uri }) => uri)
