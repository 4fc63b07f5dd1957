import type { Capability, Origin, Prompt, View } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { Reading, Source } from '../../capability/source.ts'
import { digestJson } from '../../json/digest-json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toPointer } from '../../json/to-pointer.ts'
import { type LoadedModule, toModuleDiagnostics } from '../loaded-module.ts'
import { checkDependencies } from './check-dependencies.ts'
import { isPrompt, type PromptDefinition, toPromptCapability } from './prompt-definition.ts'
import { toCapability } from './to-capability.ts'
import type { ToolDefinition } from './tool-definition.ts'
import { isView, toViewCapability, type ViewDefinition } from './view-definition.ts'

/** Anything that `defineTool`, `definePrompt` or `defineView` returns. */
export type Definition = ToolDefinition | PromptDefinition | ViewDefinition

/**
 * A source of tools, prompts and views written in code: an array of definitions, or a function that
 * loads the modules exporting them. `id` names the source in diagnostics and `_meta`.
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
  definitions: readonly Definition[] | (() => Promise<readonly LoadedModule[]>),
  id = 'definitions',
): Source {
  const load =
    typeof definitions === 'function'
      ? definitions
      : async () => [{ file: '', exports: { default: definitions } }]
  return { id, read: async () => toReading(await load(), id) }
}

function toReading(modules: readonly LoadedModule[], source: string): Reading {
  const capabilities: Capability[] = []
  const views: View[] = []
  const prompts: Prompt[] = []
  const diagnostics: Diagnostic[] = []
  const seen = new Set<unknown>()
  const dependencies = new Map<string, { origin: Origin; names: readonly string[] }>()
  const report = (
    severity: Diagnostic['severity'],
    code: string,
    pointer: string,
    message: string,
  ) => diagnostics.push({ code, severity, message, source, pointer })

  for (const module of modules) {
    const segments = module.file === '' ? [] : [module.file]
    diagnostics.push(...toModuleDiagnostics(module, source))
    if (module.error !== undefined) continue
    const exported = findDefinitions(module.exports, segments)
    if (exported.length === 0)
      report('error', 'module_empty', toPointer(segments), `${module.file} exports no definition.`)
    for (const { definition, path } of exported) {
      // Re-exports are common: one object counts once, whatever module or array it comes from.
      if (seen.has(definition)) continue
      seen.add(definition)
      const origin = { source, pointer: toPointer(path) }
      try {
        const code = module.code ?? digestFunctions(definition)
        if (isPrompt(definition))
          prompts.push(withCode(toPromptCapability(definition, origin), code))
        else if (isView(definition))
          views.push(withCode(toViewCapability(definition, origin), code))
        else {
          const reading = toCapability(definition, origin)
          diagnostics.push(...reading.diagnostics)
          if (!reading.capability) continue
          capabilities.push(withCode(reading.capability, code))
          dependencies.set(reading.capability.name, { origin, names: reading.dependsOn })
        }
      } catch (error) {
        report('error', 'definition_invalid', origin.pointer, (error as Error).message)
      }
    }
  }
  diagnostics.push(...checkDependencies(dependencies))
  return { capabilities, views, prompts, diagnostics }
}

const withCode = <T extends Capability>(capability: T, code: string): T =>
  Object.freeze({ ...capability, code })

/** Definitions that were not loaded from a file: the text of their functions, without what they import. */
const digestFunctions = (definition: unknown): string =>
  digestJson(
    JSON.stringify(
      Object.values(definition as object)
        .filter(isFunction)
        .map(String),
    ),
  )

const isFunction = (value: unknown): boolean => typeof value === 'function'

interface ExportedDefinition {
  readonly definition: unknown
  readonly path: readonly string[]
}

/** Definitions and arrays of them under any export name; other exports are ignored. */
const findDefinitions = (
  exports: Readonly<Record<string, unknown>>,
  segments: readonly string[],
): ExportedDefinition[] =>
  Object.entries(exports)
    .flatMap(([name, value]): ExportedDefinition[] => {
      const path = [...segments, name]
      return Array.isArray(value)
        ? value.map((item, index) => ({ definition: item, path: [...path, String(index)] }))
        : [{ definition: value, path }]
    })
    .filter(({ definition }) => looksLikeDefinition(definition))

/** Accepts invalid definitions too, so that they are reported rather than ignored. */
const looksLikeDefinition = (value: unknown): boolean =>
  isPlainObject(value) &&
  ('execute' in value || isPrompt(value) || isView(value) || ('name' in value && 'schema' in value))
