import { defineTool, z } from 'drawbridge-mcp'

/** The agent itself: any MCP server would do. */
const books = ['The Left Hand of Darkness', 'The Dispossessed', 'A Wizard of Earthsea']

export const findBooks = defineTool({
  name: 'find_books',
  description: 'Finds books whose title contains a word.',
  category: 'read',
  schema: z.object({ word: z.string() }),
  execute: ({ word }) => ({
    books: books.filter((title) => title.toLowerCase().includes(word.toLowerCase())),
  }),
})

export const reserveBook = defineTool({
  name: 'reserve_book',
  description: 'Puts a book aside.',
  category: 'write',
  schema: z.object({ title: z.string(), reader: z.string() }),
  execute: ({ title }) => ({ reserved: books.includes(title) }),
})
