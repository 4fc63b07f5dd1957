import {
  type Change,
  definePrompt,
  defineTool,
  definitionSource,
  type Source,
  z,
} from 'drawbridge-mcp'

/**
 * A source of one's own, whose offer changes while it is served. `read` says what there is now, and
 * `watch` is told whom to call when it is due to be read again; all else happens by itself.
 */
let announce: (change: Change) => void = () => {}
let toolIsThere = false
let promptIsThere = false

const changeTools = defineTool({
  name: 'test_trigger_tool_change',
  description: 'Makes a tool appear, or disappear again.',
  category: 'write',
  // The suite calls it again and again, and means it each time.
  effects: { repeatable: true },
  schema: z.object({}),
  execute: () => {
    toolIsThere = !toolIsThere
    announce({ kind: 'reading' })
    return 'The list of tools has changed.'
  },
})

const changePrompts = defineTool({
  name: 'test_trigger_prompt_change',
  description: 'Makes a prompt appear, or disappear again.',
  category: 'write',
  // The suite calls it again and again, and means it each time.
  effects: { repeatable: true },
  schema: z.object({}),
  execute: () => {
    promptIsThere = !promptIsThere
    announce({ kind: 'reading' })
    return 'The list of prompts has changed.'
  },
})

const tool = defineTool({
  name: 'test_passing_tool',
  description: 'Is here now, and may be gone soon.',
  category: 'analysis',
  schema: z.object({}),
  execute: () => 'Still here.',
})

const prompt = definePrompt({
  name: 'test_passing_prompt',
  description: 'Is here now, and may be gone soon.',
  render: () => 'Still here.',
})

const present = () => [
  changeTools,
  changePrompts,
  ...(toolIsThere ? [tool] : []),
  ...(promptIsThere ? [prompt] : []),
]

export default {
  id: 'changing.ts',
  read: () => definitionSource(present(), 'changing.ts').read(),
  watch: (listener) => {
    announce = listener
    return () => {
      announce = () => {}
    }
  },
} satisfies Source
