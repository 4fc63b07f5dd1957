import { byCodeUnit } from '../../json/by-code-unit.ts'
import { toGlob } from '../../patterns/glob.ts'
import type { ToolCategory } from './tool-definition.ts'

/** Categories by tool name; `*` in a name matches any characters. */
export type Categories = Readonly<Record<string, ToolCategory>>

/** The categories that the operator gives to tools of modules that are not edited. */
export class OperatorCategories {
  readonly #categories: Categories
  /** Patterns, the longest and so most specific first. */
  readonly #patterns: readonly (readonly [string, (name: string) => boolean])[]
  readonly #used = new Set<string>()

  constructor(categories: Categories) {
    this.#categories = categories
    this.#patterns = Object.keys(categories)
      .filter((key) => key.includes('*'))
      .sort((a, b) => b.length - a.length || byCodeUnit(a, b))
      .map((pattern) => [pattern, toGlob(pattern)])
  }

  /** A category for exactly this name: it also replaces one that the definition declares. */
  exact(name: string): ToolCategory | undefined {
    if (!Object.hasOwn(this.#categories, name)) return undefined
    this.#used.add(name)
    return this.#categories[name]
  }

  /** The category of the most specific pattern, for a definition that declares none. */
  matching(name: string): ToolCategory | undefined {
    const matching = this.#patterns.filter(([, matches]) => matches(name))
    for (const [pattern] of matching) this.#used.add(pattern)
    return this.#categories[matching[0]?.[0] ?? '']
  }

  /** Names and patterns that no tool has. */
  unused(): readonly string[] {
    return Object.keys(this.#categories).filter((key) => !this.#used.has(key))
  }
}
