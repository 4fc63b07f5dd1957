import {
  type Change,
  definePrompt,
  defineTool,
  definitionSource,
  type Source,
  z,
} from 'drawbridge-mcp'

/**
 * A custom source whose tools and prompts change while it is served. `read` returns the present
 * definitions; `watch` receives the listener to call when Drawbridge should read them again.
 */
let announce: (change: Change) => void = () => {}
let hasTool = false
let hasPrompt = false

const changeTools = defineTool({
  name: 'test_trigger_tool_change',
  description: 'Makes a tool appear, or disappear again.',
  category: 'write',
  // The suite repeats this call with equal arguments: each one has to take effect.
  effects: { repeatable: true },
  schema: z.object({}),
  execute: () => {
    hasTool = !hasTool
    announce({ kind: 'reading' })
    return 'The list of tools has changed.'
  },
})

const changePrompts = defineTool({
  name: 'test_trigger_prompt_change',
  description: 'Makes a prompt appear, or disappear again.',
  category: 'write',
  // The suite repeats this call with equal arguments: each one has to take effect.
  effects: { repeatable: true },
  schema: z.object({}),
  execute: () => {
    hasPrompt = !hasPrompt
    announce({ kind: 'reading' })
    return 'The list of prompts has changed.'
  },
})

const temporaryTool = defineTool({
  name: 'test_passing_tool',
  description: 'Is here now, and may be gone soon.',
  category: 'analysis',
  schema: z.object({}),
  execute: () => 'Still here.',
})

const temporaryPrompt = definePrompt({
  name: 'test_passing_prompt',
  description: 'Is here now, and may be gone soon.',
  render: () => 'Still here.',
})

const listDefinitions = () => [
  changeTools,
  changePrompts,
  ...(hasTool ? [temporaryTool] : []),
  ...(hasPrompt ? [temporaryPrompt] : []),
]

export default {
  id: 'changing.ts',
  read: () => definitionSource(listDefinitions(), 'changing.ts').read(),
  watch: (listener) => {
    announce = listener
    return () => {
      announce = () => {}
    }
  },
} satisfies Source
