import { content, defineTool, z } from 'drawbridge-mcp'
import { redPixel, silence } from '../media.ts'

export const simpleText = defineTool({
  name: 'test_simple_text',
  description: 'Answers with plain text.',
  category: 'analysis',
  schema: z.object({}),
  execute: () => 'This is a simple text response for testing.',
})

export const imageContent = defineTool({
  name: 'test_image_content',
  description: 'Answers with an image.',
  category: 'analysis',
  schema: z.object({}),
  execute: () => content([{ type: 'image', ...redPixel }]),
})

export const audioContent = defineTool({
  name: 'test_audio_content',
  description: 'Answers with a sound.',
  category: 'analysis',
  schema: z.object({}),
  execute: () => content([{ type: 'audio', ...silence }]),
})

export const embeddedResource = defineTool({
  name: 'test_embedded_resource',
  description: 'Answers with a document.',
  category: 'analysis',
  schema: z.object({}),
  execute: () =>
    content([
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ]),
})

export const multipleContentTypes = defineTool({
  name: 'test_multiple_content_types',
  description: 'Answers with text, an image and a document at once.',
  category: 'analysis',
  schema: z.object({}),
  execute: () =>
    content([
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', ...redPixel },
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: JSON.stringify({ test: 'data', value: 123 }),
        },
      },
    ]),
})

export const errorHandling = defineTool({
  name: 'test_error_handling',
  description: 'Answers that it could not do it, in words that the model may read.',
  category: 'analysis',
  schema: z.object({}),
  execute: () => ({
    tool: 'test_error_handling',
    fetchedAt: new Date().toISOString(),
    error: 'This tool intentionally returns an error for testing',
  }),
})
