import { aiSdk } from './ai-sdk.ts'
import { anthropic } from './anthropic.ts'
import { definitionBesideFunction } from './definition-beside-function.ts'
import type { Dialect, Shape } from './dialect.ts'
import { drawbridge } from './drawbridge.ts'
import { agentToolForge } from './forge.ts'
import { functionTool } from './function-tool.ts'
import { langChain } from './langchain.ts'
import { mcpSdk } from './mcp-sdk.ts'
import { openAiChat, openAiResponses } from './openai.ts'
import { openAiAgents } from './openai-agents.ts'

/** All dialects. The first that recognises a value reads it, so the narrower shapes come first. */
export const dialects: readonly Dialect[] = [
  agentToolForge,
  openAiAgents,
  openAiChat,
  openAiResponses,
  anthropic,
  langChain,
  definitionBesideFunction,
  mcpSdk,
  aiSdk,
  functionTool,
  drawbridge,
]

export const findDialect = (value: Shape): Dialect | undefined =>
  dialects.find((dialect) => dialect.recognise(value))
