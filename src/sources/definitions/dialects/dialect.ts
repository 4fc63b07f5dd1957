import type { ToolCategory, ToolContext, ToolDefinition } from '../tool-definition.ts'
import type { GateField } from './shape.ts'

/** A way in which people write tools: how to recognise it, and how to read it as our own definition. */
export interface Dialect {
  /** As the documentation and diagnostics name it. */
  readonly name: string
  /** Whether a value has the shape of this dialect. Its fields may still be wrong. */
  recognise(value: Shape): boolean
  /** Reads the value; `toCapability` validates the result. Called once, when the module is loaded. */
  toToolDefinition(value: Shape, context: DialectContext): Translation | LeftOut
  /** What declares a category in a file of this dialect. Default: `category: '…'`. */
  toCategoryLine?(category: ToolCategory): string
}

/** An object or a class of a user's module. Reading a field may throw. */
export type Shape = Readonly<Record<string, unknown>>

/** What stands beside a value in its module. */
export interface DialectContext {
  /** The name of the export or the key in a map: the name of a tool that has none itself. */
  readonly key: string | undefined
  /** The function exported for a definition that contains none. */
  findHandler(tool: string): Execute | undefined
}

export type Execute = (input: unknown, context: ToolContext) => unknown

/** A tool of another dialect as our own definition, not validated yet. */
export interface Translation {
  readonly definition: ForeignDefinition
  /** Where the fields of the definition are in the value, when they have other names there. */
  readonly fields?: Readonly<Partial<Record<keyof ToolDefinition, readonly string[]>>>
  /** Fields of the value that are read or that mean nothing here; all others are reported. */
  readonly reads: readonly string[]
  /** What the reader of the file should know about this tool. */
  readonly remarks?: readonly Remark[]
}

/** `annotations` are objects of MCP's annotations; `requiresConfirmation` may be a function. */
export type ForeignDefinition = Readonly<Partial<Record<keyof ToolDefinition | GateField, unknown>>>

export interface Remark {
  readonly code: string
  readonly severity: 'warning' | 'info'
  readonly message: string
  /** The field of the value that the remark is about. */
  readonly field?: string
  /** Equal for remarks that differ only in the tool. */
  readonly alike: string
}

/** A tool that cannot be served, and why. */
export interface LeftOut {
  readonly leftOut: string
  readonly code: 'tool_left_out' | 'function_missing' | 'permissions_unknown'
  /** `error` when the author meant it to be served, `info` when the author did not. */
  readonly severity: 'error' | 'warning' | 'info'
}

export const isLeftOut = (value: Translation | LeftOut): value is LeftOut => 'leftOut' in value
