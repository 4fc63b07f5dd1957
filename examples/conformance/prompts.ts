import { ask, definePrompt } from 'drawbridge-mcp'
import { redPixel } from './media.ts'

export const simple = definePrompt({
  name: 'test_simple_prompt',
  description: 'One message without arguments.',
  render: () => 'This is a simple prompt for testing.',
})

export const withArguments = definePrompt({
  name: 'test_prompt_with_arguments',
  description: 'One message with both arguments in it.',
  arguments: {
    arg1: {
      description: 'First test argument',
      required: true,
      complete: (prefix) =>
        ['testValue1', 'testValue2'].filter((value) => value.startsWith(prefix)),
    },
    arg2: { description: 'Second test argument', required: true },
  },
  render: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
})

export const withEmbeddedResource = definePrompt({
  name: 'test_prompt_with_embedded_resource',
  description: 'A document, and what to do with it.',
  arguments: { resourceUri: { description: 'URI of the resource to embed', required: true } },
  render: ({ resourceUri = '' }) => [
    {
      role: 'user',
      content: {
        type: 'resource',
        resource: {
          uri: resourceUri,
          mimeType: 'text/plain',
          text: 'Embedded resource content for testing.',
        },
      },
    },
    {
      role: 'user',
      content: { type: 'text', text: 'Please process the embedded resource above.' },
    },
  ],
})

export const withImage = definePrompt({
  name: 'test_prompt_with_image',
  description: 'An image, and what to do with it.',
  render: () => [
    { role: 'user', content: { type: 'image', ...redPixel } },
    { role: 'user', content: { type: 'text', text: 'Please analyze the image above.' } },
  ],
})

export const withQuestion = definePrompt({
  name: 'test_input_required_result_prompt',
  description: 'Asks a person what it is about before it is rendered.',
  render: (_, { answers }) => {
    const { content } = answers.user_context ?? {}
    if (content) return `Please answer in this context: ${JSON.stringify(content)}`
    return ask({
      user_context: {
        kind: 'form',
        message: 'What context should the prompt use?',
        schema: {
          type: 'object',
          properties: { context: { type: 'string' } },
          required: ['context'],
        },
      },
    })
  },
})
