import path from 'node:path'
import type { Capability, Prompt, View } from '../../capability/capability.ts'
import type { Reading } from '../../capability/source.ts'
import { toPointer } from '../../json/to-pointer.ts'
import { type LoadedModule, toModuleDiagnostics } from '../loaded-module.ts'
import { type Categories, OperatorCategories } from './categories.ts'
import { checkDependencies } from './check-dependencies.ts'
import { isText } from './dialects/shape.ts'
import { digestFunctions } from './digest-functions.ts'
import { type FoundDefinition, findTools, type ToolsFound } from './find-tools.ts'
import { Findings, keysOf, type Place, toPosition } from './findings.ts'
import { Handlers } from './handlers.ts'
import { isPrompt, toPromptCapability } from './prompt-definition.ts'
import { readTool, type ToolScope } from './read-tool.ts'
import { isView, toViewCapability } from './view-definition.ts'

export interface ReadOptions {
  readonly source: string
  readonly categories: Categories
}

/** All definitions of the modules as capabilities, and what was not taken with its reason. */
export function readDefinitions(
  modules: readonly LoadedModule[],
  { source, categories }: ReadOptions,
): Reading {
  const capabilities: Capability[] = []
  const views: View[] = []
  const prompts: Prompt[] = []
  const findings = new Findings(source)
  const handlers = new Handlers(modules)
  const operatorCategories = new OperatorCategories(categories)
  const scope: ToolScope = { source, findings, handlers, categories: operatorCategories }
  const seen = new Set<unknown>()
  const dependencies = new Map<string, { place: Place; names: readonly string[] }>()

  const places = new Map<string, Place>()

  const read = (module: LoadedModule, definition: FoundDefinition): void => {
    const { shape } = definition
    let place: Place = { module, path: definition.path, keys: [] }
    const origin = { source, pointer: toPointer(toSegments(module, definition.path)) }
    try {
      // Getters of the definition may throw.
      place = { ...place, name: nameIn(shape), keys: keysOf(shape) }
      places.set(origin.pointer, place)
      const code = module.code ?? digestFunctions(shape)
      if (isPrompt(shape)) prompts.push(withCode(toPromptCapability(shape, origin), code))
      else if (isView(shape)) views.push(withCode(toViewCapability(shape, origin), code))
      else {
        const reading = readTool(
          definition,
          { module, origin, key: toKey(module, definition) },
          scope,
        )
        if (!reading) return
        capabilities.push(withCode(reading.capability, reading.code))
        const { name } = reading.capability
        place = { ...place, name }
        places.set(origin.pointer, place)
        dependencies.set(name, { place, names: reading.dependsOn })
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const subject = place.name ?? toKey(module, definition)
      const message = `${subject === undefined ? 'A definition' : JSON.stringify(subject)} cannot be read: ${reason}`
      findings.add({ severity: 'error', code: 'definition_invalid', message, place })
    }
  }

  const searched = modules.map((module) => {
    findings.addDiagnostics(toModuleDiagnostics(module, source))
    const found = module.error === undefined ? findTools(module.exports) : nothing
    for (const definition of found.definitions) {
      // Re-exports are common: one object counts once, whatever module or array it comes from.
      if (seen.has(definition.value)) continue
      seen.add(definition.value)
      read(module, definition)
    }
    return { module, found }
  })
  for (const { module, found } of searched) {
    const isEmpty = found.definitions.length === 0 && !handlers.usesFunctionsOf(module)
    const [missing] = handlers.missing()
    const notTaken = found.notTaken.filter(
      ({ value, only }) =>
        !seen.has(value) &&
        !handlers.isUsed(value) &&
        (only !== 'if_empty' || isEmpty) &&
        (only !== 'if_functions_are_missing' || missing !== undefined),
    )
    for (const { value, path: valuePath, code, reason, severity, only } of notTaken) {
      seen.add(value)
      const name =
        quoteRegistered(valuePath) ?? valuePath.join('.').replace(/^default$/, 'The default export')
      const advice =
        only === 'if_functions_are_missing' ? toHandlerAdvice(valuePath, String(missing)) : ''
      const place = toPlace(module, value, valuePath)
      findings.add({
        severity,
        code,
        message: `${name} is not served: ${reason}.${advice}`,
        place,
      })
    }
    if (module.error === undefined && isEmpty)
      findings.add({
        severity: 'error',
        code: 'module_empty',
        message: `${module.file === '' ? 'The value' : module.file} exports no definition.${findServer(module)}`,
        place: { module, path: [], keys: [] },
      })
  }
  reportUnused(scope)
  for (const { tool, code, message } of checkDependencies(dependencies)) {
    const place = dependencies.get(tool)?.place
    if (place) findings.add({ severity: 'error', code, message, place, field: ['dependsOn'] })
  }
  const names = capabilities.map(({ name }) => name)
  const diagnostics = [
    ...findings.toDiagnostics(),
    ...operatorCategories.unused().map((key) => ({
      code: 'category_unmatched',
      severity: 'warning' as const,
      message: `No tool is called "${key}". Tools: ${names.slice(0, 20).join(', ')}${names.length > 20 ? ', …' : ''}.`,
      source,
      pointer: toPointer(['categories', key]),
    })),
  ]
  const positionOf = (pointer: string) => {
    const place = places.get(pointer)
    return place && toPosition(place)
  }
  return { capabilities, views, prompts, diagnostics, positionOf }
}

/** A server that is connected in the module, and not exported. */
function findServer({ readTexts }: LoadedModule): string {
  const [own] = readTexts?.() ?? []
  const makesServer = /\bnew\s+McpServer\b/.test(own?.text ?? '')
  return makesServer ? ' It makes an McpServer: export it, as export const server = ….' : ''
}

const nothing: ToolsFound = { definitions: [], notTaken: [] }

const toSegments = ({ file }: LoadedModule, place: readonly string[]): readonly string[] =>
  file === '' ? place : [file, ...place]

/** The key in a map or the name of the export; for a default export the name of the file. */
function toKey({ file }: LoadedModule, { path: place, instantiated }: FoundDefinition) {
  const key = place.at(-1) ?? ''
  if (/^\d+$/.test(key)) return undefined
  if (key !== 'default') return key
  if (instantiated !== undefined || file === '') return undefined
  const { name } = path.parse(file)
  return name.replaceAll(/[^A-Za-z0-9]+/g, '_')
}

/** The place of something that is not served: reading it may throw, as a revoked proxy does. */
function toPlace(module: LoadedModule, value: object, path: readonly string[]): Place {
  try {
    return { module, path, name: nameIn(value) ?? toRegisteredName(path), keys: Object.keys(value) }
  } catch {
    return { module, path, keys: [] }
  }
}

/** The name, or the id of libraries that have ids, as a plain field: a getter may throw. */
function nameIn(value: object): string | undefined {
  const names = ['name', 'id'].map((field) => Object.getOwnPropertyDescriptor(value, field)?.value)
  return names.find(isText)
}

/** In a server of the MCP SDK, the key is the name. */
const toRegisteredName = (path: readonly string[]): string | undefined =>
  path.at(-2)?.startsWith('_registered') ? path.at(-1) : undefined

function quoteRegistered(path: readonly string[]): string | undefined {
  const name = toRegisteredName(path)
  return name === undefined ? undefined : JSON.stringify(name)
}

/** How a function that takes the name of a tool is used for one that has no function. */
const toHandlerAdvice = (path: readonly string[], tool: string): string =>
  ` Export handlers = { ${/^[\w$]+$/.test(tool) ? tool : JSON.stringify(tool)}: (input) => ${path.at(-1)}('${tool}', input) }.`

/** Functions beside those of definitions: most often a misspelt name. */
function reportUnused({ findings, handlers }: ToolScope): void {
  for (const { name, module, path: place } of handlers.unused())
    findings.add({
      severity: 'warning',
      code: 'handler_unused',
      message: `${place.join('.')} is a function for a tool "${name}", which is not defined.`,
      place: { module, path: place, keys: [] },
    })
}

const withCode = <T extends Capability>(capability: T, code: string): T =>
  Object.freeze({ ...capability, code })
