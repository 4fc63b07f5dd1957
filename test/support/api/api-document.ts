import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'

export type Fields = Readonly<Record<string, unknown>>

/** A value, and the file that relative references in it start from. */
export interface Located {
  readonly value: unknown
  readonly file: string
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * An OpenAPI document as the mock API reads it, from one file or several. Written from the specification
 * alone: nothing here is shared with the code that is tested.
 */
export class ApiDocument {
  readonly #files = new Map<string, unknown>()
  readonly #main: string

  constructor(file: string, text = readFileSync(file, 'utf8')) {
    this.#main = path.resolve(file)
    this.#files.set(this.#main, parseText(text))
  }

  get root(): Located {
    return { value: this.#files.get(this.#main), file: this.#main }
  }

  get isSwagger(): boolean {
    return this.get(this.root, 'swagger').value !== undefined
  }

  /** The value behind keys, with the references on the way resolved. */
  get(from: Located, ...keys: readonly (string | number)[]): Located {
    return keys.reduce<Located>(
      (at, key) => this.resolve({ value: own(at.value, key), file: at.file }),
      this.resolve(from),
    )
  }

  list(from: Located, key: string): readonly Located[] {
    const { value, file } = this.get(from, key)
    return Array.isArray(value) ? value.map((item) => this.resolve({ value: item, file })) : []
  }

  keys(from: Located): readonly string[] {
    const { value } = this.resolve(from)
    return isFields(value) ? Object.keys(value) : []
  }

  resolve(from: Located): Located {
    let at = from
    for (let hops = 0; hops < 100; hops++) {
      const reference = own(at.value, '$ref')
      if (typeof reference !== 'string') return at
      at = this.#follow(reference, at.file)
    }
    return { value: undefined, file: from.file }
  }

  #follow(reference: string, from: string): Located {
    const [location = '', pointer = ''] = reference.split('#')
    const file = location === '' ? from : path.resolve(path.dirname(from), location)
    if (!this.#files.has(file)) this.#files.set(file, parseText(readFileSync(file, 'utf8')))
    const keys = pointer.split('/').slice(1).map(decodeKey)
    return keys.reduce<Located>(
      (at, key) => ({ value: own(this.resolve(at).value, key), file: this.resolve(at).file }),
      { value: this.#files.get(file), file },
    )
  }
}

const decodeKey = (text: string): string =>
  decodeURIComponent(text).replaceAll('~1', '/').replaceAll('~0', '~')

const own = (value: unknown, key: string | number): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string | number, unknown>)[key]
    : undefined

const parseText = (text: string): unknown =>
  text.trimStart().startsWith('{')
    ? JSON.parse(text)
    : parse(text, { uniqueKeys: false, maxAliasCount: -1, logLevel: 'silent' })
