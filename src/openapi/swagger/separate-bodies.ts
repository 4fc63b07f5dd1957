import { isPlainObject } from '../../json/is-plain-object.ts'
import {
  type DocumentNode,
  type DocumentPath,
  type Fields,
  lookUp,
  maxReferences,
} from '../document.ts'
import { isMethod } from '../methods.ts'

/** The fields of an operation's form. */
export interface SwaggerForm {
  readonly route: string
  readonly method: string
  readonly consumes: readonly unknown[]
  readonly fields: readonly DocumentNode[]
}

/** Parts of the converted document that are written elsewhere. */
export class MovedParts {
  readonly #written = new Map<string, DocumentPath>()

  add(path: DocumentPath, written: DocumentPath): void {
    this.#written.set(JSON.stringify(path), written)
  }

  toWrittenPath(path: DocumentPath): DocumentPath {
    for (let length = path.length; length > 0; length--) {
      const written = this.#written.get(JSON.stringify(path.slice(0, length)))
      if (written) return [...written, ...path.slice(length)]
    }
    return path
  }
}

type Owner = Record<string, unknown>

/**
 * Takes the parameters of bodies and forms out of all lists, also shared ones. A body is put back into each
 * operation that has it, for the converter; forms are returned. Modifies the document.
 */
export function separateBodies(root: Owner): {
  readonly forms: readonly SwaggerForm[]
  readonly moved: MovedParts
} {
  const forms: SwaggerForm[] = []
  const moved = new MovedParts()
  for (const parameter of Object.values(isPlainObject(root.parameters) ? root.parameters : {}))
    markUnknownFormat(parameter)
  for (const [route, item] of listOwners(root.paths)) {
    const shared = takeParameters(root, item, ['paths', route], moved)
    for (const [method, operation] of listOwners(item)) {
      if (!isMethod(method)) continue
      const path = ['paths', route, method]
      const own = takeParameters(root, operation, path, moved)
      const fields = new Map(
        [...shared, ...own].map((node) => [
          node.value.in === 'body' ? 'body' : `formData ${node.value.name}`,
          node,
        ]),
      )
      const body = fields.get('body')
      fields.delete('body')
      const consumes = [operation.consumes, root.consumes].find(Array.isArray) ?? []
      if (body) putBack(operation, body)
      if (body) addBodyPaths(body, consumes, path, moved)
      if (fields.size > 0 && !body)
        forms.push({ route, method, consumes, fields: [...fields.values()] })
    }
  }
  return { forms, moved }
}

const listOwners = (value: unknown): readonly (readonly [string, Owner])[] =>
  isPlainObject(value)
    ? Object.entries(value).flatMap(([key, one]) =>
        isPlainObject(one) ? [[key, one as Owner] as const] : [],
      )
    : []

/** The parameters of bodies and forms, removed from their owner; the others get new indexes. */
function takeParameters(
  root: Fields,
  owner: Owner,
  path: DocumentPath,
  moved: MovedParts,
): readonly DocumentNode[] {
  if (!Array.isArray(owner.parameters)) return []
  const taken: DocumentNode[] = []
  const kept: unknown[] = []
  for (const [index, declared] of owner.parameters.entries()) {
    const node = follow(root, { value: declared, path: [...path, 'parameters', index] })
    const isBody = node && (node.value.in === 'body' || node.value.in === 'formData')
    if (isBody) taken.push({ ...node, value: structuredClone(node.value) })
    else {
      const parameter = node && isMisplaced(declared) ? structuredClone(node.value) : declared
      markUnknownFormat(parameter)
      moved.add([...path, 'parameters', kept.length], [...path, 'parameters', index])
      kept.push(parameter)
    }
  }
  owner.parameters = kept
  return taken
}

/** Parameters of other operations, to which bundled files refer, get another place. */
const isMisplaced = (declared: unknown): boolean =>
  isPlainObject(declared) &&
  typeof declared.$ref === 'string' &&
  !declared.$ref.startsWith('#/parameters/')

function follow(
  root: Fields,
  from: { readonly value: unknown; readonly path: DocumentPath },
): DocumentNode | undefined {
  let node: typeof from | undefined = from
  for (let links = 0; node && links <= maxReferences; links++) {
    const { value, path }: typeof from = node
    if (!isPlainObject(value)) return undefined
    if (typeof value.$ref !== 'string') return { value, path }
    node = lookUp({ root }, value.$ref)
  }
  return undefined
}

function putBack(operation: Owner, body: DocumentNode): void {
  const others = Array.isArray(operation.parameters) ? operation.parameters : []
  operation.parameters = [...others, body.value]
}

function addBodyPaths(
  body: DocumentNode,
  consumes: readonly unknown[],
  path: DocumentPath,
  moved: MovedParts,
): void {
  const requestBody = [...path, 'requestBody']
  moved.add(requestBody, body.path)
  for (const type of consumes.length > 0 ? consumes : ['application/json'])
    moved.add([...requestBody, 'content', String(type), 'schema'], [...body.path, 'schema'])
}

/** OpenAPI 3 has no style for these: reading the parameter reports it. */
function markUnknownFormat(parameter: unknown): void {
  if (!isPlainObject(parameter) || parameter.type !== 'array') return
  const { in: place, collectionFormat } = parameter
  // The lists of a form have an encoding.
  if (collectionFormat === undefined || place === 'formData') return
  const known = place === 'query' ? ['csv', 'ssv', 'pipes', 'multi'] : ['csv']
  if (!known.includes(String(collectionFormat)))
    Object.assign(parameter, { style: collectionFormat, explode: false })
}
