export { z } from 'zod'
export type { Call, InnerCall, Listing } from './capability/call.ts'
export type { Caller, Scopes } from './capability/caller.ts'
export type { Cancellation } from './capability/cancellation.ts'
export type { Capability, Origin, Prompt, PromptParameter, View } from './capability/capability.ts'
export type { Content, Document, Message } from './capability/content.ts'
export type {
  Contract,
  ContractReading,
  Issue,
  Parsed,
  SlowPattern,
} from './capability/contract.ts'
export type { Diagnostic } from './capability/diagnostic.ts'
export type { Effects } from './capability/effects.ts'
export {
  type Failure,
  type FailureOptions,
  type FailureTable,
  type FixedBy,
  failureSet,
} from './capability/failure.ts'
export type { Fault } from './capability/fault.ts'
export type { Json, JsonObject } from './capability/json.ts'
export type { Listener, LogEntry, LogLevel, Progress } from './capability/listener.ts'
export {
  type Asking,
  type Done,
  done,
  type Failed,
  type Notice,
  type Outcome,
} from './capability/outcome.ts'
export type { Decision as StepDecision } from './capability/plan.ts'
export type {
  Answer,
  FormQuestion,
  LinkQuestion,
  ModelQuestion,
  Question,
  RootsQuestion,
} from './capability/question.ts'
export {
  type Approvers,
  type Budget,
  type Cost,
  noRules,
  type Rate,
  type Rules,
  type Thresholds,
} from './capability/rules.ts'
export { SetupError } from './capability/setup-error.ts'
export type { About, Change, Reading, Source } from './capability/source.ts'
export type {
  ItemRule,
  Judgement,
  SettingRule,
  TrustSurface,
} from './capability/trust-surface.ts'
export { readContract } from './contracts/read-contract.ts'
export type {
  ApprovalOptions,
  AuditOptions,
  BudgetOptions,
  CheckpointOptions,
  CheckpointTarget,
  DuplicateOptions,
  EgressOptions,
  ExecutionOptions,
  HttpOptions,
  KeyOptions,
  LimitOptions,
  MountOptions,
  PolicyOptions,
  RateOptions,
  RuleOptions,
  ThresholdOptions,
  TokenOptions,
} from './runtime/config/config-options.ts'
export {
  type AcceptSnapshot,
  type Approval,
  type ApprovalResult,
  type Approvals,
  type ApprovalView as ApprovalDetails,
  type AuditEntry,
  type CallToolResult,
  createDrawbridge,
  Drawbridge,
  type Entry as CatalogEntry,
  type ExecutionHistory,
  type Explanation,
  type OperatorFailure,
  type ResumeResult,
  RpcError,
  type ServerIdentity,
  type Snapshot as CatalogSnapshot,
  type StdioConnection,
  type ToolList,
} from './runtime/drawbridge.ts'
export type {
  CallOptions,
  DrawbridgeOptions,
  ExplainOptions,
  ListenOptions,
  ListOptions,
  ProbeOptions,
  StdioOptions,
} from './runtime/drawbridge-options.ts'
export type {
  ExecutionEvent,
  ExecutionFilter,
  ExecutionState,
  ExecutionSummary,
  LoggedExecution,
} from './runtime/intents/execution-history.ts'
export type {
  HandlerContext,
  ManifestHandler,
  ManifestSourceOptions,
  SecretBinding,
} from './runtime/open-manifest.ts'
export type {
  OpenApiSourceOptions,
  SchemeSecret as OpenApiSecret,
  Selector as OperationSelector,
} from './runtime/open-openapi.ts'
export type { PlacedSource } from './runtime/placed-source.ts'
export type {
  RecordSourceOptions,
  RemoteRecords,
} from './runtime/records/open-records.ts'
export type { Categories } from './sources/definitions/categories.ts'
export type { Completer } from './sources/definitions/completion.ts'
export {
  type Definition,
  type DefinitionOptions,
  definitionSource,
  type ForeignTools,
  type ModuleSupplier,
} from './sources/definitions/definition-source.ts'
export {
  definePrompt,
  type PromptArgument,
  type PromptDefinition,
} from './sources/definitions/prompt-definition.ts'
export { ask, content, type Reply } from './sources/definitions/reply.ts'
export {
  type ConsequenceLevel,
  defineTool,
  type ToolCategory,
  type ToolContext,
  type ToolDefinition,
  type ToolResult,
  type ToolStatus,
} from './sources/definitions/tool-definition.ts'
export { defineView, type ViewDefinition } from './sources/definitions/view-definition.ts'
export {
  type AgentContext,
  type AgentDefinition,
  AgentError,
  type CapabilityDefinition,
  defineAgent,
  type EffectClass,
  type RoutingMode,
} from './sources/intents/agents/agent.ts'
export type { IntentEnvelope, IntentRef } from './sources/intents/envelope/envelope.ts'
export type { ErrorCode } from './sources/intents/envelope/error-codes.ts'
export type { AgentResponse, ErrorInfo } from './sources/intents/envelope/response.ts'
export type {
  AgentModules,
  DiscoverOptions,
  EjectionOptions,
  IntentOptions,
  NatsAccess,
  NatsOptions,
  NatsServeOptions,
  RemoteAgentDefinition,
  RoutingOptions,
  SealSettings,
  ServeOptions,
} from './sources/intents/intent-options.ts'
export type { RoutingHook } from './sources/intents/router/hooks.ts'
export type { LoadedModule, ModuleText } from './sources/loaded-module.ts'
export { derive } from './sources/services/adapters/derive.ts'
export {
  fromMachine,
  type Machine,
  type MachineOptions,
  type MachineSnapshot,
  type MachineTransition,
} from './sources/services/adapters/from-machine.ts'
export { fromObservable, type Subscribable } from './sources/services/adapters/from-observable.ts'
export { fromSignal, type Signal } from './sources/services/adapters/from-signal.ts'
export { fromStore, type StateStore } from './sources/services/adapters/from-store.ts'
export type { ServiceDeclaration, ServiceOptions } from './sources/services/options.ts'
export type {
  Observe,
  Service,
  ServiceAction,
  ServiceState,
} from './sources/services/service.ts'
export { type SchemaReading, toJsonSchema } from './sources/services/to-json-schema.ts'
