import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { Dialect, Shape } from './dialects/dialect.ts'
import { findDialect } from './dialects/dialects.ts'
import { findMissing, findReason, looksLikeTool, noSchema } from './dialects/left-out.ts'
import {
  isMcpServer,
  type LeftOutOfServer,
  listRegistered,
  type Registered,
} from './dialects/mcp-server.ts'
import { isClass, isSchema, isShape, isText } from './dialects/shape.ts'
import { findNamedFunction, type NamedFunction } from './function-names.ts'
import { isPrompt } from './prompt-definition.ts'
import { readEntries } from './readable-entries.ts'
import { isView } from './view-definition.ts'

/** A value in the exports of a module. */
interface Found {
  /** The export itself, by which re-exports are recognised. */
  readonly value: object
  /** Its place in the exports. */
  readonly path: readonly string[]
}

/** A definition; tools have the dialect that reads them, prompts and views are our own. */
export interface FoundDefinition extends Found {
  readonly shape: Shape
  readonly dialect: Dialect | undefined
  /** The class that was instantiated for it. */
  readonly instantiated?: string
}

/** Something that looks like a tool and is none. */
export interface NotTaken extends Found {
  readonly code:
    | 'tool_left_out'
    | 'class_not_instantiated'
    | 'function_not_called'
    | 'exports_too_large'
    | 'permissions_unknown'
  readonly reason: string
  readonly severity: Diagnostic['severity']
  readonly only?: NamedFunction['only']
}

export interface ToolsFound {
  readonly definitions: readonly FoundDefinition[]
  readonly notTaken: readonly NotTaken[]
}

const maxDepth = 10
const maxValues = 20_000

/** Finds all definitions in the exports of a module: under any name, in arrays, maps and servers. */
export function findTools(exports: Readonly<Record<string, unknown>>): ToolsFound {
  const search = new Search()
  for (const [name, value] of Object.entries(exports)) search.visit(value, [name])
  return { definitions: [...search.definitions.values()], notTaken: [...search.notTaken.values()] }
}

/** Whether a module that may be something else has definitions, or a default class. */
export const hasDefinitions = (exports: Readonly<Record<string, unknown>>): boolean =>
  isClass(exports.default) || findTools(exports).definitions.length > 0

class Search {
  readonly definitions = new Map<object, FoundDefinition>()
  readonly notTaken = new Map<object, NotTaken>()
  readonly #visited = new Set<object>()
  #values = 0

  visit(value: unknown, path: readonly string[]): void {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return
    if (++this.#values > maxValues) {
      const reason = `the exports have more than ${maxValues} values, and the rest is not searched`
      return this.#leaveOut(this, path, 'exports_too_large', reason)
    }
    const known = this.definitions.get(value)
    if (known) {
      // The key in a map is the name that the author gives a tool; the export name is a variable.
      if (rank(path) > rank(known.path)) this.definitions.set(value, { ...known, path })
      return
    }
    if (this.#visited.has(value)) return
    this.#visited.add(value)
    try {
      this.#visitNew(value, path)
    } catch (error) {
      this.#leaveOut(value, path, 'tool_left_out', `it cannot be read: ${toReason(error)}`)
    }
  }

  #visitNew(value: object, path: readonly string[]): void {
    if (Array.isArray(value)) return this.#visitArray(value, path)
    if (value instanceof Map) return this.#visitAll([...value], path)
    if (value instanceof Set) return this.#visitAll([...[...value].entries()], path)
    if (!isShape(value)) return
    if (isClass(value)) return this.#visitClass(value, path)
    if (typeof value === 'function') return this.#visitFunction(value, path)
    this.#visitObject(value, path)
  }

  #visitArray(values: readonly unknown[], path: readonly string[]): void {
    const registration = toRegistration(values)
    if (registration) return this.#take(values, registration, path)
    this.#visitAll([...values.entries()], path)
  }

  #visitAll(entries: readonly (readonly [unknown, unknown])[], path: readonly string[]): void {
    for (const [key, value] of entries) {
      const place = [...path, String(key)]
      if (place.length <= maxDepth) this.visit(value, place)
      else if (isShape(value) && (findDialect(value) || looksLikeTool(value)))
        this.#leaveOut(value, place, 'tool_left_out', tooDeep)
    }
  }

  #visitEntries(value: object, path: readonly string[]): void {
    const { entries, unreadable } = readEntries(value)
    for (const [key, error] of unreadable)
      this.#leaveOut({}, [...path, key], 'tool_left_out', `it cannot be read: ${toReason(error)}`)
    this.#visitAll(entries, path)
  }

  #visitObject(value: Shape, path: readonly string[]): void {
    if (isPrompt(value) || isView(value)) {
      this.definitions.set(value, { value, path, shape: value as Shape, dialect: undefined })
      return
    }
    if (isMcpServer(value)) {
      for (const registered of listRegistered(value))
        this.#visitRegistered(registered, [...path, ...registered.path])
      return
    }
    const reason = findReason(value)
    if (reason !== undefined) return this.#leaveOut(value, path, 'tool_left_out', reason)
    if (findDialect(value)) return this.#take(value, value, path)
    if (isNamespace(value)) return this.#visitEntries(value, path)
    const known = this.definitions.size
    if (isPlainObject(value)) this.#visitEntries(value, path)
    else this.#visitToolkit(value, path, 'getTools' in value)
    if (looksLikeTool(value)) return this.#leaveOut(value, path, 'tool_left_out', unknownForm)
    // With tools in it, it is something else: an agent, for example.
    const missing = isPlainObject(value) ? findMissing(value) : undefined
    if (missing !== undefined && this.definitions.size === known)
      // Only a note: plugins and commands have these parts, too.
      this.#leaveOut(value, path, 'tool_left_out', missing, { severity: 'info' })
  }

  /** An instance or class with `tools`, as a toolkit of LangChain. Its `getTools` is not called. */
  #visitToolkit(value: Shape, path: readonly string[], hasGetTools: boolean): void {
    const { tools } = value
    if (typeof tools === 'object' && tools !== null) return this.visit(tools, [...path, 'tools'])
    if (!hasGetTools) return
    const reason =
      'it has getTools(), and functions are not called to get tools. Export what it returns'
    this.#leaveOut(value, path, 'function_not_called', reason)
  }

  #visitRegistered(registered: Registered | LeftOutOfServer, path: readonly string[]): void {
    const { source } = registered
    if ('leftOut' in registered) {
      const { leftOut, severity } = registered
      const code = severity === 'error' ? 'permissions_unknown' : 'tool_left_out'
      return this.#leaveOut(source, path, code, leftOut, { severity })
    }
    const { value: shape } = registered
    if (isPrompt(shape) || isView(shape))
      this.definitions.set(source, { value: source, path, shape, dialect: undefined })
    else this.#take(source, shape, path)
  }

  #take(value: object, shape: Shape, path: readonly string[], instantiated?: string): void {
    const dialect = findDialect(shape)
    // Getters that throw do so here, where the reason is reported.
    Object.values(shape)
    this.definitions.set(value, {
      value,
      path,
      shape,
      dialect,
      ...(instantiated && { instantiated }),
    })
  }

  /** Only classes that say that they are tools: to instantiate others could have effects. */
  #visitClass(value: Shape & (new () => unknown), path: readonly string[]): void {
    if (hasStaticFunction(value) && findDialect(value)) return this.#take(value, value, path)
    if (Object.hasOwn(value, 'tools') || Object.hasOwn(value, 'getTools'))
      return this.#visitToolkit(value, path, Object.hasOwn(value, 'getTools'))
    const name = value.name || path.at(-1)
    if (!/tool$/i.test(String(name)) && !isLangChainClass(value)) return
    if (value.length > 0)
      return this.#leaveOut(
        value,
        path,
        'class_not_instantiated',
        `it is a class whose constructor takes arguments. Export an instance: export const tool = new ${name}(…)`,
      )
    const instance = new value()
    if (isShape(instance) && findDialect(instance)) return this.#take(value, instance, path, name)
    this.#leaveOut(
      value,
      path,
      'tool_left_out',
      'it is a class whose instances have the form of no known kind of tool',
    )
  }

  /** A factory is not called: what it needs is not known, and calling it could have effects. */
  #visitFunction(value: Shape, path: readonly string[]): void {
    const described = toDescribed(value)
    if (described) {
      if (findDialect(described)) return this.#take(value, described, path)
      return this.#leaveOut(value, path, 'tool_left_out', noSchema)
    }
    if (path.length > 2) return
    const name = String(path.at(-1) === 'default' ? value.name : path.at(-1))
    const named = findNamedFunction(name)
    if (named) this.#leaveOut(value, path, 'function_not_called', named.reason, named)
  }

  #leaveOut(
    value: object,
    path: readonly string[],
    code: NotTaken['code'],
    reason: string,
    rest: Partial<NotTaken> = {},
  ): void {
    this.notTaken.set(value, { severity: 'warning', ...rest, value, path, code, reason })
  }
}

const tooDeep = `it is nested more than ${maxDepth} levels deep. Export it itself`
const unknownForm =
  'it has the form of no known kind of tool. Export { name, description, parameters, execute }'

/** A function that carries its own definition: `Object.assign(async (input) => …, { description, parameters })`. */
function toDescribed(value: Shape): Shape | undefined {
  if ('~standard' in value) return undefined
  const { description, parameters, inputSchema } = value
  const isDefined = isText(description) || isSchema(parameters) || isSchema(inputSchema)
  return isDefined ? { ...value, run: value } : undefined
}

const toReason = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''

/** How much a place says about a tool's name: a key of a map, an export name, or nothing. */
function rank(path: readonly string[]): number {
  const last = path.at(-1) ?? ''
  if (/^\d+$/.test(last) || last === 'default') return 0
  return path.length > 1 ? 2 : 1
}

const isNamespace = (value: object): boolean => Reflect.get(value, Symbol.toStringTag) === 'Module'

const hasStaticFunction = (members: Shape): boolean =>
  ['execute', 'handler', 'run', 'call', 'invoke'].some(
    (name) => typeof members[name] === 'function',
  )

const isLangChainClass = ({ prototype }: { readonly prototype: unknown }): boolean =>
  isShape(prototype) &&
  'lc_namespace' in prototype &&
  typeof prototype.invoke === 'function' &&
  '_call' in prototype

/**
 * The arguments of `registerTool(name, config, handler)`, or of the older
 * `tool(name, description?, shape?, handler)`, as an object.
 */
function toRegistration(values: readonly unknown[]): Shape | undefined {
  const [name, ...rest] = values
  const handler = rest.pop()
  if (
    !isText(name) ||
    typeof handler !== 'function' ||
    isClass(handler) ||
    rest.length === 0 ||
    rest.length > 2
  )
    return undefined
  const [first, second] = rest
  if (rest.length === 1 && isPlainObject(first)) return { name, config: first, handler }
  if (!isText(first)) return undefined
  return {
    name,
    config: { description: first, ...(second !== undefined && { inputSchema: second }) },
    handler,
  }
}
