import type { Capability, Origin, Prompt, View } from '../../capability/capability.ts'
import { toPointer } from '../../capability/contract.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isPlainObject } from '../../capability/json.ts'
import type { Reading, Source } from '../../capability/source.ts'
import { type LoadedModule, toModuleDiagnostics } from '../loaded-module.ts'
import { checkDependencies } from './check-dependencies.ts'
import { isPrompt, type PromptDefinition, toPromptCapability } from './prompt-definition.ts'
import { toCapability } from './to-capability.ts'
import type { ToolDefinition } from './tool-definition.ts'
import { isView, toViewCapability, type ViewDefinition } from './view-definition.ts'

export type Definition = ToolDefinition | PromptDefinition | ViewDefinition

/** Definitions in code: an array of them, or modules that export them. */
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
  const say = (severity: Diagnostic['severity'], code: string, pointer: string, message: string) =>
    diagnostics.push({ code, severity, message, source, pointer })

  for (const module of modules) {
    const place = module.file === '' ? [] : [module.file]
    diagnostics.push(...toModuleDiagnostics(module, source))
    if (module.error !== undefined) continue
    const found = definitionsIn(module.exports, place, seen)
    if (found === 'nothing')
      say('error', 'module_empty', toPointer(place), `${module.file} exports no definition.`)
    for (const { definition, path } of found === 'nothing' ? [] : found) {
      const origin = { source, pointer: toPointer(path) }
      try {
        if (isPrompt(definition)) prompts.push(toPromptCapability(definition, origin))
        else if (isView(definition)) views.push(toViewCapability(definition, origin))
        else {
          const reading = toCapability(definition, origin)
          diagnostics.push(...reading.diagnostics)
          if (!reading.capability) continue
          capabilities.push(reading.capability)
          dependencies.set(reading.capability.name, { origin, names: reading.dependsOn })
        }
      } catch (error) {
        say('error', 'definition_invalid', origin.pointer, (error as Error).message)
      }
    }
  }
  diagnostics.push(...checkDependencies(dependencies))
  return { capabilities, views, prompts, diagnostics }
}

interface Found {
  readonly definition: unknown
  readonly path: readonly string[]
}

/**
 * One definition, several, or an array of them, under any name. Modules that export each tool and
 * all of them again, or those of another module, are common: the same object counts once.
 */
function definitionsIn(
  exports: Readonly<Record<string, unknown>>,
  place: readonly string[],
  seen: Set<unknown>,
): readonly Found[] | 'nothing' {
  const found: Found[] = []
  for (const [name, value] of Object.entries(exports))
    if (Array.isArray(value))
      for (const [index, item] of value.entries())
        found.push({ definition: item, path: [...place, name, String(index)] })
    else found.push({ definition: value, path: [...place, name] })
  const meant = found.filter(({ definition }) => isDefinition(definition))
  if (meant.length === 0) return 'nothing'
  return meant.filter(({ definition }) => {
    const isNew = !seen.has(definition)
    seen.add(definition)
    return isNew
  })
}

/** Something meant as a definition, right or wrong: wrong ones are said, other exports are not. */
const isDefinition = (value: unknown): boolean =>
  isPlainObject(value) &&
  ('execute' in value || isPrompt(value) || isView(value) || ('name' in value && 'schema' in value))
