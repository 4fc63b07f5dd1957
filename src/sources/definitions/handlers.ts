import { isPlainObject } from '../../json/is-plain-object.ts'
import type { LoadedModule } from '../loaded-module.ts'
import type { Execute } from './dialects/dialect.ts'
import { isClass } from './dialects/shape.ts'
import { readEntries } from './readable-entries.ts'

/** A function that a module exports, alone or in a map. */
export interface ExportedFunction {
  readonly name: string
  /** Bound to its map: methods need their `this`. */
  readonly run: Execute
  /** The function itself, by which it is recognised. */
  readonly source: unknown
  readonly module: LoadedModule
  readonly path: readonly string[]
  /** The map that contains it. */
  readonly map: object | undefined
}

const maxDepth = 3

/** `handlers`, `toolHandlers`, `functions`, `availableFunctions`, `implementations` and the like. */
const mapNames = /^(tool|available)?_?(handlers?|functions?|implementations?|executors?)(map)?$/i

/** Finds the functions of definitions that contain none: by the tool's name, in snake_case or camelCase. */
export class Handlers {
  readonly #functions: readonly ExportedFunction[]
  readonly #used = new Set<ExportedFunction>()
  readonly #missing = new Set<string>()

  constructor(modules: readonly LoadedModule[]) {
    this.#functions = modules.flatMap((module) => listFunctions(module))
  }

  /**
   * The definition's own module first, a map before a function exported alone, a map named for it before
   * another one. Throws if there are several different functions: a guess could run the wrong one.
   */
  find(tool: string, module: LoadedModule): ExportedFunction | undefined {
    for (const name of new Set([tool, toCamelCase(tool)])) {
      const named = this.#functions.filter((one) => one.name === name)
      const preferences = [
        named.filter((one) => one.module === module),
        named.filter(({ map }) => map !== undefined),
        named.filter(({ path }) => mapNames.test(path.at(-2) ?? '')),
      ]
      const candidates = preferences.reduce((kept, preferred) => {
        const both = kept.filter((one) => preferred.includes(one))
        return both.length > 0 ? both : kept
      }, named)
      const [chosen] = candidates
      if (!chosen) continue
      if (candidates.some(({ source }) => source !== chosen.source)) {
        const places = candidates.map(({ path }) => path.join('.')).join(', ')
        throw new Error(`several functions are exported for ${JSON.stringify(tool)}: ${places}.`)
      }
      this.#used.add(chosen)
      return chosen
    }
    this.#missing.add(tool)
    return undefined
  }

  /** Tools for which no function was found. */
  missing(): readonly string[] {
    return [...this.#missing]
  }

  /** Whether a module has functions that definitions of other modules use. */
  usesFunctionsOf(module: LoadedModule): boolean {
    return [...this.#used].some((one) => one.module === module)
  }

  isUsed(value: unknown): boolean {
    return [...this.#used].some(({ source }) => source === value)
  }

  /**
   * Functions of maps that are used, which no definition has the name of; while functions are missing, of all
   * maps that are named for it.
   */
  unused(): readonly ExportedFunction[] {
    const used = [...this.#used]
    const sources = new Set(used.map(({ source }) => source))
    const maps = new Set(used.map(({ map }) => map))
    const isMeant = ({ map, path }: ExportedFunction) =>
      maps.has(map) || (this.#missing.size > 0 && mapNames.test(path.at(-2) ?? ''))
    return this.#functions.filter(
      (one) => one.map !== undefined && isMeant(one) && !sources.has(one.source),
    )
  }
}

function listFunctions(module: LoadedModule): readonly ExportedFunction[] {
  const functions: ExportedFunction[] = []
  const visited = new Set<unknown>()
  const visit = (
    entries: Iterable<readonly [unknown, unknown]>,
    path: readonly string[],
    map?: object,
  ) => {
    for (const [key, value] of entries) {
      const name = String(key)
      if (typeof value === 'function' && !isClass(value))
        functions.push({
          name,
          run: toRun(value as Execute, map),
          source: value,
          module,
          path: [...path, name],
          map,
        })
      if (path.length >= maxDepth || visited.has(value)) continue
      visited.add(value)
      const entries = listEntries(value)
      if (entries) visit(entries, [...path, name], value as object)
    }
  }
  visit(Object.entries(module.exports), [])
  return functions
}

/** The entries of a map or of a plain object. What cannot be read is nobody's function. */
function listEntries(value: unknown): Iterable<readonly [unknown, unknown]> | undefined {
  try {
    if (value instanceof Map) return value
    return isPlainObject(value) ? readEntries(value).entries : undefined
  } catch {
    return undefined
  }
}

const toRun = (run: Execute, map: object | undefined): Execute =>
  map === undefined ? run : (input, context) => Reflect.apply(run, map, [input, context])

const toCamelCase = (name: string): string =>
  name.replaceAll(/[^a-zA-Z0-9]+([a-zA-Z0-9])/g, (_, letter: string) => letter.toUpperCase())
