import { isPlainObject } from '../../../json/is-plain-object.ts'
import type { YamlFault, YamlReading } from '../../../yaml/read-yaml.ts'

export type DocumentPath = readonly PropertyKey[]
export type Fields = Readonly<Record<string, unknown>>

/** A mapping in the document, with its path. */
export interface DocumentNode {
  readonly value: Fields
  readonly path: DocumentPath
}

/** An OpenAPI document; faults carry file, line and column. */
export class OpenApiDocument {
  readonly root: Fields
  /** OpenAPI 3.0 has its own schema dialect; 3.1 uses JSON Schema 2020-12. */
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

  /** Resolves references; returns nothing if the value is absent, and reports one that is not a mapping. */
  resolve(value: unknown, path: DocumentPath): DocumentNode | undefined {
    const seen = new Set<string>()
    let node = { value, path }
    while (isPlainObject(node.value)) {
      const { $ref } = node.value
      if (typeof $ref !== 'string') return { value: node.value, path: node.path }
      const target = this.lookUp($ref)
      if (!target || seen.has($ref)) {
        this.reportFault([...node.path, '$ref'], toReferenceFault($ref, seen))
        return undefined
      }
      seen.add($ref)
      node = target
    }
    if (node.value !== undefined) this.reportFault(node.path, 'This must be a mapping.')
    return undefined
  }

  /** The target of a local reference. */
  lookUp(reference: string): { value: unknown; path: DocumentPath } | undefined {
    if (!isLocalReference(reference)) return undefined
    let value: unknown = this.root
    const path: string[] = []
    for (const segment of reference.slice(1).split('/').slice(1)) {
      const key = decode(segment).replaceAll('~1', '/').replaceAll('~0', '~')
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
      this.reportFault([], 'This is not an OpenAPI document: the field "openapi" is missing.')
    else
      this.reportFault(
        ['openapi'],
        `OpenAPI 3.0 and 3.1 are supported, not ${JSON.stringify(openapi)}.`,
      )
  }
}

export const isLocalReference = (reference: string): boolean =>
  reference === '#' || reference.startsWith('#/')

function toReferenceFault(reference: string, seen: ReadonlySet<string>): string {
  if (seen.has(reference)) return `${reference} refers to itself.`
  return isLocalReference(reference)
    ? `${reference} does not exist in this document.`
    : `${reference} is outside of this document and is not fetched. Bundle the document into one file first.`
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
