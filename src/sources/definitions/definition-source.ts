import { checkOptionNames } from '../../capability/check-option-names.ts'
import type { Reading, Source } from '../../capability/source.ts'
import type { LoadedModule } from '../loaded-module.ts'
import type { Categories } from './categories.ts'
import type { PromptDefinition } from './prompt-definition.ts'
import { readDefinitions } from './read-definitions.ts'
import type { ToolDefinition } from './tool-definition.ts'
import type { ViewDefinition } from './view-definition.ts'

/** Anything that `defineTool`, `definePrompt` or `defineView` returns. */
export type Definition = ToolDefinition | PromptDefinition | ViewDefinition

/**
 * Tools of another library: one, an array, a map by name, `{ tools, handlers }`, or an `McpServer`.
 * `docs/definitions.md` lists the libraries.
 */
export type ForeignTools = object

/** Options of `definitionSource`. */
export interface DefinitionOptions {
  /** Names the source in diagnostics and `_meta`. Default: `definitions`. */
  readonly id?: string
  /**
   * Categories of tools that declare none, by tool name; `*` in a name matches any characters. An exact
   * name replaces a declared category too.
   */
  readonly categories?: Categories
}

/** Loads the modules that export definitions. */
export type ModuleSupplier = () => Promise<readonly LoadedModule[]>

/**
 * A source of tools, prompts and views written in code: our own definitions, tools of another library, or
 * a function that loads the modules exporting them.
 *
 * @example
 * ```ts
 * import { createDrawbridge, definePrompt, definitionSource } from 'drawbridge-mcp'
 *
 * const greet = definePrompt({ name: 'greet', description: 'Greets.', render: () => 'Say hello.' })
 * const bridge = createDrawbridge({ sources: [definitionSource([greet], 'greetings')] })
 * ```
 */
export function definitionSource(
  definitions: readonly Definition[] | ModuleSupplier | ForeignTools,
  options: DefinitionOptions | string = {},
): Source {
  const named: DefinitionOptions = typeof options === 'string' ? { id: options } : options
  checkOptionNames(named, optionNames)
  const { id = 'definitions', categories = {} } = named
  const load = isSupplier(definitions)
    ? definitions
    : async () => [{ file: '', exports: { default: definitions } }]
  return {
    id,
    read: async (): Promise<Reading> => readDefinitions(await load(), { source: id, categories }),
  }
}

const optionNames = { id: true, categories: true } satisfies Record<keyof DefinitionOptions, true>

const isSupplier = (definitions: object): definitions is ModuleSupplier =>
  typeof definitions === 'function'
