import type { z } from 'zod'
import type { LogLevel } from '../../capability/call.ts'
import type { Caller } from '../../capability/caller.ts'
import type { Effects } from '../../capability/effects.ts'
import type { Json } from '../../capability/json.ts'
import type { Answer, Question } from '../../capability/question.ts'
import type { Cost } from '../../capability/rules.ts'
import type { Reply } from './reply.ts'

export const categories = ['read', 'write', 'analysis', 'delete', 'side_effect'] as const
export type Category = (typeof categories)[number]

export const consequenceLevels = ['low', 'medium', 'high'] as const
export type ConsequenceLevel = (typeof consequenceLevels)[number]

export const statuses = ['active', 'deprecated', 'removed'] as const
export type Status = (typeof statuses)[number]

/** A tool as a developer writes it down. */
export interface ToolDefinition<Input = never> {
  /** snake_case, verb_noun. */
  readonly name: string
  readonly title?: string
  /** What it does, when to use it, and what to use instead otherwise. Reaches the model whole. */
  readonly description: string
  /** Zod, any Standard Schema, or JSON Schema 2020-12. */
  readonly schema: unknown
  readonly outputSchema?: unknown
  readonly category: Category
  readonly consequenceLevel?: ConsequenceLevel
  /** A human must say yes first. Never inferred from the category. */
  readonly requiresConfirmation?: boolean
  /** Milliseconds; 15,000 where absent. */
  readonly timeout?: number
  readonly tags?: readonly string[]
  readonly version?: string
  /** Deprecated tools are not listed any more but still answer; removed ones are gone. */
  readonly status?: Status
  /** Names of tools that must be there for this one to make sense. */
  readonly dependsOn?: readonly string[]
  /** Scopes a caller must hold, all of them. */
  readonly permissions?: readonly string[]
  /** A call must bring a key that makes it safe to repeat. */
  readonly idempotencyKey?: boolean
  /** What one call is expected to cost; the result may say what it did cost. */
  readonly cost?: Cost
  /** What the category does not know about this one: that a write may be repeated, for example. */
  readonly effects?: Partial<Effects>
  /** How the data reads as text; JSON where absent. */
  readonly text?: (data: never) => string
  readonly execute: (input: Input, context: ToolContext) => unknown
}

/** What a tool is given besides its input. */
export interface ToolContext {
  /** Aborts when the time is over or the client has left. */
  readonly signal: AbortSignal
  readonly caller: Caller
  /** Tells a waiting client how far it is. */
  progress(done: number, total?: number, message?: string): void
  /** Tells a client that asked for logs. */
  log(level: LogLevel, data: unknown, logger?: string): void
  /** What was answered to the questions of an earlier `ask`. */
  readonly answers: Readonly<Record<string, Answer>>
  /** What that `ask` wanted to be remembered. */
  readonly state: Json | undefined
  /** Whether the client can be asked this kind of question. */
  canAsk(kind: Question['kind']): boolean
}

/** What `execute` may return besides plain data. */
export interface ToolResult {
  readonly tool: string
  readonly fetchedAt: string
  readonly data?: unknown
  readonly error?: string
  /** What it really cost, in the unit the definition says. */
  readonly cost?: number
}

type InputOf<Schema> = Schema extends z.core.$ZodType
  ? z.output<Schema>
  : Schema extends { readonly '~standard': { readonly types?: { readonly output: infer Output } } }
    ? Output
    : Schema extends Readonly<Record<string, z.core.$ZodType>>
      ? { [Key in keyof Schema]: z.output<Schema[Key]> }
      : Record<string, unknown>

/** Of all that `execute` may return, what is data. */
type DataOf<Returned> = Returned extends Reply | { readonly error: string }
  ? never
  : Returned extends {
        readonly tool: string
        readonly fetchedAt: string
        readonly data: infer Data
      }
    ? Data
    : Returned

/** Returns its argument; exists so that `execute` is typed by `schema`, and `text` by `execute`. */
export const defineTool = <const Schema extends object, Returned>(
  tool: Omit<ToolDefinition, 'schema' | 'execute' | 'text'> & {
    readonly schema: Schema
    readonly execute: (input: InputOf<Schema>, context: ToolContext) => Returned
    readonly text?: (data: DataOf<Awaited<Returned>>) => string
  },
): ToolDefinition => tool as ToolDefinition
