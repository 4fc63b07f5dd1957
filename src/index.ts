export { z } from 'zod'
export type { Call } from './capability/call.ts'
export type { Caller } from './capability/caller.ts'
export type { Capability, Prompt, View } from './capability/capability.ts'
export type { Content, Document, Message } from './capability/content.ts'
export type { Contract } from './capability/contract.ts'
export type { Diagnostic } from './capability/diagnostic.ts'
export type { Effects } from './capability/effects.ts'
export { failureSet } from './capability/failure.ts'
export type { Listener } from './capability/listener.ts'
export { done, type Outcome } from './capability/outcome.ts'
export type { Answer, Question } from './capability/question.ts'
export { noRules, type Rules } from './capability/rules.ts'
export { SetupError } from './capability/setup-error.ts'
export type { Change, Reading, Source } from './capability/source.ts'
export { readContract } from './contracts/read-contract.ts'
export { createDrawbridge, Drawbridge } from './runtime/drawbridge.ts'
export type { DrawbridgeOptions } from './runtime/drawbridge-options.ts'
export { type ManifestSourceOptions, manifestSource } from './runtime/open-manifest.ts'
export { recordSource } from './runtime/records/open-records.ts'
export { definitionSource } from './sources/definitions/definition-source.ts'
export { definePrompt, type PromptDefinition } from './sources/definitions/prompt-definition.ts'
export { ask, content } from './sources/definitions/reply.ts'
export {
  defineTool,
  type ToolContext,
  type ToolDefinition,
  type ToolResult,
} from './sources/definitions/tool-definition.ts'
export { defineView, type ViewDefinition } from './sources/definitions/view-definition.ts'
export {
  type AgentContext,
  type AgentDefinition,
  AgentError,
  defineAgent,
} from './sources/intents/agents/agent.ts'
export type { IntentEnvelope } from './sources/intents/envelope/envelope.ts'
export type { AgentResponse } from './sources/intents/envelope/response.ts'
export { type IntentOptions, intentSource } from './sources/intents/intent-source.ts'
export { derive } from './sources/services/adapters/derive.ts'
export { fromMachine } from './sources/services/adapters/from-machine.ts'
export { fromObservable } from './sources/services/adapters/from-observable.ts'
export { fromSignal } from './sources/services/adapters/from-signal.ts'
export { fromStore } from './sources/services/adapters/from-store.ts'
export type { ServiceOptions } from './sources/services/options.ts'
export type {
  Observe,
  Service,
  ServiceAction,
  ServiceState,
} from './sources/services/service.ts'
export { serviceSource } from './sources/services/service-source.ts'
export { toJsonSchema } from './sources/services/to-json-schema.ts'
