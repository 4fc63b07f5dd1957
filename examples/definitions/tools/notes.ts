import { definePrompt, defineTool, defineView, z } from 'drawbridge-mcp'

interface Note {
  readonly id: number
  readonly title: string
  readonly body: string
  readonly written: string
}

const notes = new Map<number, Note>()
let next = 1

export const addNote = defineTool({
  name: 'add_note',
  description:
    'Adds a note to the notebook and returns its id. Use it to remember something. ' +
    'Notes on an order belong to add_order_note.',
  schema: z.object({
    title: z.string().min(1).max(80).describe('Subject of the note, one line'),
    body: z.string().max(10_000).default('').describe('Text of the note'),
    written: z.date().optional().describe('Time of writing; defaults to now'),
  }),
  category: 'write',
  consequenceLevel: 'low',
  tags: ['notes'],
  effects: { reachesOut: false },
  execute: ({ title, body, written }) => {
    const note = { id: next++, title, body, written: (written ?? new Date()).toISOString() }
    notes.set(note.id, note)
    return { id: note.id, count: notes.size }
  },
  text: ({ id, count }) => `Saved as note ${id} of ${count}. read_note returns its text.`,
})

export const findNotes = defineTool({
  name: 'find_notes',
  description:
    'Lists the notes whose title or body contains the given words, newest first. Use it to find the id for read_note.',
  schema: z.object({
    words: z.string().default('').describe('Empty to list every note'),
    limit: z.number().int().min(1).max(50).default(10),
  }),
  outputSchema: z.object({
    notes: z.array(z.object({ id: z.number(), title: z.string(), written: z.string() })),
    total: z.number(),
  }),
  category: 'analysis',
  execute: ({ words, limit }) => {
    const matches = [...notes.values()]
      .filter(({ title, body }) => `${title}\n${body}`.toLowerCase().includes(words.toLowerCase()))
      .reverse()
    return { notes: matches.slice(0, limit), total: matches.length }
  },
})

export const readNote = defineTool({
  name: 'read_note',
  description: 'Returns one note by its id. find_notes lists the ids.',
  schema: z.object({ id: z.number().int().positive() }),
  category: 'analysis',
  dependsOn: ['find_notes'],
  execute: ({ id }) => {
    const note = notes.get(id)
    const resultFields = { tool: 'read_note', fetchedAt: new Date().toISOString() }
    return note
      ? { ...resultFields, data: note }
      : { ...resultFields, error: `Unknown note ${id}. find_notes lists the ids.` }
  },
})

export const note = defineView({
  uri: 'notes://{id}',
  name: 'note',
  description: 'One note as text.',
  mimeType: 'text/plain',
  complete: { id: () => [...notes.keys()].map(String) },
  read: ({ id }) => notes.get(Number(id))?.body ?? 'Unknown note.',
})

export const summarise = definePrompt({
  name: 'summarise_notes',
  description: 'Asks for a summary of all notes about one subject.',
  arguments: { subject: { description: 'What the notes are about', required: true } },
  render: ({ subject }) =>
    `Find my notes about ${subject} with find_notes, read them, and sum them up in five lines.`,
})
