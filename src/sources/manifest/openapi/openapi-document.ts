import { isPlainObject } from '../../../capability/json.ts'
import type { YamlFault, YamlReading } from '../../../yaml/read-yaml.ts'

export type DocumentPath = readonly PropertyKey[]
export type Fields = Readonly<Record<string, unknown>>

export interface DocumentNode {
  readonly value: Fields
  readonly path: DocumentPath
}

/** An OpenAPI document of which every complaint names file, line and column. */
export class OpenApiDocument {
  readonly root: Fields
  /** Of 3.0, whose schemas are a dialect of their own. */
  readonly isVersion30: boolean
  readonly faults: YamlFault[] = []
  readonly #reading: YamlReading

  constructor(reading: YamlReading) {
    this.#reading = reading
    this.faults.push(...reading.faults)
    this.root = isPlainObject(reading.value) ? reading.value : {}
    const { openapi } = this.root
    this.isVersion30 = /^3\.0\./.test(String(openapi))
    if (this.faults.length === 0) this.#checkVersion()
  }

  get version(): string {
    return String(this.root.openapi)
  }

  reportFault(path: DocumentPath, message: string): void {
    const at = this.#reading.at(path)
    if (this.faults.some((one) => one.at === at && one.message === message)) return
    this.faults.push({ at, message })
  }

  /** What stands at a place, or what it refers to; nothing where that is absent or no mapping. */
  resolve(value: unknown, path: DocumentPath): DocumentNode | undefined {
    const seen = new Set<string>()
    let place = { value, path }
    while (isPlainObject(place.value)) {
      const { $ref } = place.value
      if (typeof $ref !== 'string') return { value: place.value, path: place.path }
      const target = this.lookUp($ref)
      if (!target || seen.has($ref)) {
        this.reportFault([...place.path, '$ref'], toTrouble($ref, seen))
        return undefined
      }
      seen.add($ref)
      place = target
    }
    if (place.value !== undefined) this.reportFault(place.path, 'This must be a mapping.')
    return undefined
  }

  /** What a reference into this document points to. */
  lookUp(reference: string): { value: unknown; path: DocumentPath } | undefined {
    if (!isLocalReference(reference)) return undefined
    let value: unknown = this.root
    const path: string[] = []
    for (const step of reference.slice(1).split('/').slice(1)) {
      const key = decode(step).replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key))
        return undefined
      value = (value as Fields)[key]
      path.push(key)
    }
    return { value, path }
  }

  #checkVersion(): void {
    const { openapi, swagger } = this.root
    if (typeof openapi === 'string' && /^3\.[01](?:\.|$)/.test(openapi)) return
    if (swagger !== undefined)
      this.reportFault(['swagger'], 'This is Swagger 2.0. Convert it to OpenAPI 3 first.')
    else if (openapi === undefined)
      this.reportFault([], 'This is no OpenAPI document: it has no "openapi: 3.1.0".')
    else
      this.reportFault(
        ['openapi'],
        `OpenAPI 3.0 and 3.1 are understood, not ${JSON.stringify(openapi)}.`,
      )
  }
}

export const isLocalReference = (reference: string): boolean =>
  reference === '#' || reference.startsWith('#/')

function toTrouble(reference: string, seen: ReadonlySet<string>): string {
  if (seen.has(reference)) return `${reference} refers to itself.`
  return isLocalReference(reference)
    ? `${reference} points to nothing in this document.`
    : `${reference} lies outside, and nothing is fetched. Bundle the document into one file first.`
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}
