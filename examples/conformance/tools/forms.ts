import { type Answer, ask, defineTool, z } from 'drawbridge-mcp'

export const elicitation = defineTool({
  name: 'test_elicitation',
  description: 'Asks a person for a name and an address, with the words it is given.',
  category: 'analysis',
  schema: z.object({ message: z.string() }),
  execute: ({ message }, { answers }) => {
    if (answers.user) return `User response: ${formatAnswer(answers.user)}`
    const schema = {
      type: 'object',
      properties: {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      },
      required: ['username', 'email'],
    }
    return ask({ user: { kind: 'form', message, schema } })
  },
})

export const formWithDefaults = defineTool({
  name: 'test_elicitation_sep1034_defaults',
  description: 'Asks with a form that is filled in already.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) => {
    if (answers.user) return `Elicitation completed: ${formatAnswer(answers.user)}`
    const message = 'Please review and update the form fields with defaults'
    return ask({ user: { kind: 'form', message, schema: schemaWithDefaults } })
  },
})

const schemaWithDefaults = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'User name', default: 'John Doe' },
    age: { type: 'integer', description: 'User age', default: 30 },
    score: { type: 'number', description: 'User score', default: 95.5 },
    status: {
      type: 'string',
      description: 'User status',
      enum: ['active', 'inactive', 'pending'],
      default: 'active',
    },
    verified: { type: 'boolean', description: 'Verification status', default: true },
  },
  required: [],
}

export const formWithChoices = defineTool({
  name: 'test_elicitation_sep1330_enums',
  description: 'Asks with a form of choices, in each of the five ways to write one.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { answers }) => {
    if (answers.user) return `Elicitation completed: ${formatAnswer(answers.user)}`
    const message = 'Please select options from the enum fields'
    return ask({ user: { kind: 'form', message, schema: schemaWithChoices } })
  },
})

const options = ['option1', 'option2', 'option3']

const titledOptions = (noun: string) => [
  { const: 'value1', title: `First ${noun}` },
  { const: 'value2', title: `Second ${noun}` },
  { const: 'value3', title: `Third ${noun}` },
]

const schemaWithChoices = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', description: 'Select one option', enum: options },
    titledSingle: {
      type: 'string',
      description: 'Select one option with titles',
      oneOf: titledOptions('Option'),
    },
    legacyEnum: {
      type: 'string',
      description: 'Select one option (legacy)',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: {
      type: 'array',
      description: 'Select multiple options',
      minItems: 1,
      maxItems: 3,
      items: { type: 'string', enum: options },
    },
    titledMulti: {
      type: 'array',
      description: 'Select multiple options with titles',
      minItems: 1,
      maxItems: 3,
      items: { anyOf: titledOptions('Choice') },
    },
  },
  required: [],
}

const formatAnswer = ({ action, content }: Answer): string =>
  `action=${action}, content=${JSON.stringify(content)}`
