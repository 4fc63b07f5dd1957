import type { Fault } from '../../capability/fault.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { DocumentPath, Fields } from '../document.ts'
import { addForms } from './add-forms.ts'
import { separateBodies } from './separate-bodies.ts'

export interface ConvertedDocument {
  readonly root: Fields
  /** Where a part of the converted document is written. */
  readonly toWrittenPath: (path: DocumentPath) => DocumentPath
}

/** Converts Swagger 2.0 to OpenAPI 3.0. */
export async function fromSwagger(root: Fields): Promise<ConvertedDocument | Fault> {
  const { upgradeFromTwoToThree } = await import('@scalar/openapi-upgrader/2.0-to-3.0')
  try {
    // The converter modifies its argument.
    const copy = structuredClone({ ...root, swagger: '2.0' })
    readNullable(copy)
    // The converter loses shared bodies, and most of what forms say.
    const { forms, moved } = separateBodies(copy)
    const converted = upgradeFromTwoToThree(copy) as Fields
    addForms(converted, forms, moved)
    return {
      root: withSecureServersFirst(converted),
      toWrittenPath: (path) => withWrittenNames(moved.toWrittenPath(path)),
    }
  } catch (error) {
    return { fault: `Swagger 2.0 cannot be converted: ${(error as Error).message}` }
  }
}

/** The first server is used, and secrets need TLS: `schemes` are a set, often written with http first. */
function withSecureServersFirst(converted: Fields): Fields {
  const { servers } = converted
  if (!Array.isArray(servers)) return converted
  const isSecure = (server: unknown) =>
    isPlainObject(server) && /^https:/i.test(String((server as Fields).url))
  return {
    ...converted,
    servers: [...servers.filter(isSecure), ...servers.filter((one) => !isSecure(one))],
  }
}

/** The extension that many generators write, because Swagger 2.0 has no null. */
function readNullable(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const child of Object.values(value)) readNullable(child)
  const fields = value as Record<string, unknown>
  if (fields['x-nullable'] === true) fields.nullable = true
}

/** Components have other names in Swagger 2.0. */
function withWrittenNames(path: DocumentPath): DocumentPath {
  const [first, kind, ...rest] = path
  if (first === 'servers') return ['host']
  if (first !== 'components' || kind === undefined) return path
  return [writtenNames[String(kind)] ?? kind, ...rest]
}

const writtenNames: Readonly<Record<string, string>> = {
  schemas: 'definitions',
  securitySchemes: 'securityDefinitions',
}
