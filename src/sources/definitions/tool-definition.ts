import type { z } from 'zod'
import type { Caller } from '../../capability/caller.ts'
import type { Effects } from '../../capability/effects.ts'
import type { Json } from '../../capability/json.ts'
import type { LogLevel } from '../../capability/listener.ts'
import type { Answer, Question } from '../../capability/question.ts'
import type { Cost } from '../../capability/rules.ts'
import type { Reply } from './reply.ts'

/** Kinds of work; each has a row of default `Effects` in `to-effects.ts`. */
export const categories = ['read', 'write', 'analysis', 'delete', 'side_effect'] as const
/** The kind of work that a tool does; decides its default effects. */
export type ToolCategory = (typeof categories)[number]

export const consequenceLevels = ['low', 'medium', 'high'] as const
/** How bad a wrong call of a tool is. */
export type ConsequenceLevel = (typeof consequenceLevels)[number]

export const statuses = ['active', 'deprecated', 'removed'] as const
/** `deprecated` tools can be called but are not listed; `removed` tools are not served at all. */
export type ToolStatus = (typeof statuses)[number]

/**
 * A tool written in code. `defineTool` returns it with its types inferred; a plain object of this
 * shape, exported from a module, works too.
 */
export interface ToolDefinition<Input = never> {
  /** The name clients call, in snake_case: a verb and a noun, such as `refund_order`. */
  readonly name: string
  /** A name for people, shown in user interfaces. */
  readonly title?: string
  /** Tells the model what it does, when to use it, and what to use instead. Sent in full. */
  readonly description: string
  /** The input: a Zod schema, any Standard Schema, or JSON Schema 2020-12. Enforced on every call. */
  readonly schema: unknown
  /** The result data, in the same three forms. A result that does not match it is not sent. */
  readonly outputSchema?: unknown
  /** The kind of work; decides annotations such as `readOnlyHint`. Without it, an irreversible write. */
  readonly category: ToolCategory
  /** How bad a wrong call is; `high` marks a write as destructive. Default: `low`. */
  readonly consequenceLevel?: ConsequenceLevel
  /** Every call needs the approval of a human. Never inferred from the category. Default: `false`. */
  readonly requiresConfirmation?: boolean
  /** Milliseconds until the call is answered with a timeout. Default: 15,000. */
  readonly timeout?: number
  /** Keywords for clients that group or filter tools; sent in `_meta`. */
  readonly tags?: readonly string[]
  /** The version of this tool; sent in `_meta`. */
  readonly version?: string
  /** Whether the tool is listed and can be called. Default: `active`. */
  readonly status?: ToolStatus
  /** Names of tools of the same source that this one needs; checked when the module is loaded. */
  readonly dependsOn?: readonly string[]
  /** Scopes that a caller must hold, all of them. */
  readonly permissions?: readonly string[]
  /** Every call must bring an idempotency key. Default: `false`. */
  readonly idempotencyKey?: boolean
  /** The estimated cost of one call, for budgets. A `ToolResult` reports the actual cost. */
  readonly cost?: Cost
  /** Overrides what the category implies, for example `{ repeatable: true }` for a safe write. */
  readonly effects?: Partial<Effects>
  /** Renders the result data as text for the model. Default: JSON. */
  readonly text?: (data: never) => string
  /** Does the work. Returns data, a `ToolResult`, `content(…)` or `ask(…)`; may be async. */
  readonly execute: (input: Input, context: ToolContext) => unknown
}

/** The second argument of `execute`, `render` and `read`. */
export interface ToolContext {
  /** Aborts when the timeout is reached or the client cancels the call. */
  readonly signal: AbortSignal
  /** The authenticated caller, with its scopes. */
  readonly caller: Caller
  /** Sends a progress notification to a client that asked for progress. */
  progress(done: number, total?: number, message?: string): void
  /** Sends a log message to a client that enabled logging at this level. */
  log(level: LogLevel, data: unknown, logger?: string): void
  /** Answers to the questions of an earlier `ask`, by the same keys. Untrusted: validate them. */
  readonly answers: Readonly<Record<string, Answer>>
  /** The `state` that was passed to that `ask`. */
  readonly state: Json | undefined
  /** Returns `true` if the client supports this kind of question. */
  canAsk(kind: Question['kind']): boolean
  /** Unique id of the call; results, audit entries and logs refer to it. */
  readonly callId: string
  /** The arguments as the client sent them, before `schema` applied defaults and transforms. */
  readonly rawInput: unknown
  /** `true` if a human has approved this call with these arguments. */
  readonly approved: boolean
}

/** Result data with the time it was fetched, or an error for the model. An alternative to plain data. */
export type ToolResult<Data = unknown> = {
  /** The name of the tool. */
  readonly tool: string
  /** ISO 8601 time at which the data was read from its origin. */
  readonly fetchedAt: string
  /** The result; checked against `outputSchema`. */
  readonly data?: Data
  /** Why there is no result. The model reads it as `Error: …`. */
  readonly error?: string
  /** The actual cost of this call, in the unit of the definition's `cost`. */
  readonly cost?: number
} & ({ readonly data: Data } | { readonly error: string })

/** `true` for schemas that carry types; JSON Schema does not. */
type IsTyped<Schema> = Schema extends
  | z.core.$ZodType
  | { readonly '~standard': unknown }
  | Readonly<Record<string, z.core.$ZodType>>
  ? true
  : false

interface StandardTyped<Types> {
  readonly '~standard': { readonly types?: Types | undefined }
}

type InputOf<Schema> = Schema extends z.core.$ZodType
  ? z.output<Schema>
  : Schema extends StandardTyped<{ readonly output: infer Output }>
    ? Output
    : Schema extends Readonly<Record<string, z.core.$ZodType>>
      ? { [Key in keyof Schema]: z.output<Schema[Key]> }
      : Record<string, unknown>

/** The data that passes `outputSchema`: its input side, because the result is parsed with it. */
type OutputOf<Schema> = Schema extends z.core.$ZodType
  ? AsReadonly<z.input<Schema>>
  : Schema extends StandardTyped<{ readonly input: infer Input }>
    ? AsReadonly<Input>
    : Schema extends Readonly<Record<string, z.core.$ZodType>>
      ? { readonly [Key in keyof Schema]: AsReadonly<z.input<Schema[Key]>> }
      : unknown

/** Everything `execute` may return for this data. */
type Returnable<Data> = Data | Reply | ToolResult<Data>

/** Accepts readonly arrays and objects too: results are only read. */
type AsReadonly<T> = unknown extends T ? T : { readonly [Key in keyof T]: AsReadonly<T[Key]> }

/** Unchecked without `outputSchema`, or where a JSON Schema leaves one of the two sides untyped. */
type Execute<Schema, OutputSchema, Returned> = [IsTyped<Schema>, IsTyped<OutputSchema>] extends [
  true,
  true,
]
  ? (
      input: InputOf<Schema>,
      context: ToolContext,
    ) => Returnable<OutputOf<OutputSchema>> | Promise<Returnable<OutputOf<OutputSchema>>>
  : (input: InputOf<Schema>, context: ToolContext) => Returned

/** The data among everything `execute` may return: what `text` receives. */
type DataOf<Returned> = Returned extends Reply | { readonly error: string }
  ? never
  : Returned extends {
        readonly tool: string
        readonly fetchedAt: string
        readonly data: infer Data
      }
    ? Data
    : Returned

/**
 * Defines a tool. Returns its argument; exists for its types: `schema` types the input of `execute`,
 * `outputSchema` its result, and the result types the argument of `text`. An `execute` without
 * parameters needs `as const` on values of an enum or literal type.
 *
 * @example
 * ```ts
 * import { defineTool, z } from 'drawbridge-mcp'
 *
 * const notes: string[] = []
 * export const addNote = defineTool({
 *   name: 'add_note',
 *   description: 'Stores a note. Use when the user wants to remember something.',
 *   schema: z.object({ text: z.string() }),
 *   outputSchema: z.object({ id: z.number() }),
 *   category: 'write',
 *   execute: ({ text }) => ({ id: notes.push(text) }),
 * })
 * ```
 */
export const defineTool = <const Schema extends object, Returned, const OutputSchema = undefined>(
  tool: Omit<ToolDefinition, 'schema' | 'outputSchema' | 'execute' | 'text'> & {
    readonly schema: Schema
    readonly outputSchema?: OutputSchema
    readonly execute: Execute<Schema, OutputSchema, Returned>
    readonly text?: (data: DataOf<Awaited<Returned>>) => string
  },
): ToolDefinition => tool as ToolDefinition
