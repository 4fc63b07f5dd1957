import { setTimeout as sleep } from 'node:timers/promises'
import { defineTool, z } from 'drawbridge-mcp'

export const toolWithProgress = defineTool({
  name: 'test_tool_with_progress',
  description: 'Tells how far it is while it works.',
  category: 'analysis',
  schema: z.object({}),
  execute: async (_, { progress }) => {
    progress(0, 100)
    await sleep(50)
    progress(50, 100)
    await sleep(50)
    progress(100, 100)
    return 'Tool with progress executed successfully'
  },
})

export const toolWithLogging = defineTool({
  name: 'test_tool_with_logging',
  description: 'Tells what it does while it works.',
  category: 'analysis',
  schema: z.object({}),
  execute: async (_, { log }) => {
    log('info', 'Tool execution started')
    await sleep(50)
    log('info', 'Tool processing data')
    await sleep(50)
    log('info', 'Tool execution completed')
    return 'Tool with logging executed successfully'
  },
})

export const loggingTool = defineTool({
  name: 'test_logging_tool',
  description: 'Tells one thing, which only those hear who asked for it.',
  category: 'analysis',
  schema: z.object({}),
  execute: (_, { log }) => {
    log('info', 'This is for those who listen')
    return 'Logged'
  },
})

export const reconnection = defineTool({
  name: 'test_reconnection',
  description: 'Takes long enough for a client to lose its stream and come back for the answer.',
  category: 'analysis',
  schema: z.object({}),
  execute: async () => {
    await sleep(100)
    return 'Reconnection test completed'
  },
})
