import { defineView } from 'drawbridge-mcp'
import { redPixel } from './media.ts'

export const text = defineView({
  uri: 'test://static-text',
  name: 'static_text',
  description: 'A text that never changes.',
  mimeType: 'text/plain',
  read: () => 'This is the content of the static text resource.',
})

export const binary = defineView({
  uri: 'test://static-binary',
  name: 'static_binary',
  description: 'An image that never changes.',
  mimeType: redPixel.mimeType,
  read: () => ({ uri: 'test://static-binary', blob: redPixel.data }),
})

export const watched = defineView({
  uri: 'test://watched-resource',
  name: 'watched_resource',
  description: 'A text that can be subscribed to.',
  mimeType: 'text/plain',
  read: () => 'Watched resource content',
})

export const template = defineView({
  uri: 'test://template/{id}/data',
  name: 'template_data',
  description: 'The data of one id.',
  mimeType: 'application/json',
  read: ({ id }) => ({ id, templateTest: true, data: `Data for ID: ${id}` }),
})
