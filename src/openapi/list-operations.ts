import {
  type DocumentNode,
  type DocumentPath,
  type Fields,
  type OpenApiDocument,
  resolve,
} from './document.ts'
import type { Findings } from './findings.ts'
import { isMethod, type Method } from './methods.ts'
import { toOperationIds } from './operation-ids.ts'

/** An operation as the document declares it. */
export interface DeclaredOperation {
  /** Unique in the document: the `operationId`, or made from method and path. */
  readonly id: string
  readonly method: Method
  /** The path template. */
  readonly route: string
  readonly value: Fields
  readonly path: DocumentPath
  /** The path item that contains it. */
  readonly item: DocumentNode
}

/** All operations, in the order of the document. */
export function listOperations(
  document: OpenApiDocument,
  findings: Findings,
): readonly DeclaredOperation[] {
  const paths = resolve(document, document.root.paths, ['paths'], findings)?.value ?? {}
  const operations = Object.keys(paths)
    .filter((route) => !route.startsWith('x-'))
    .flatMap((route) => listOperationsOf(document, paths[route], route, findings))
  const ids = toOperationIds(operations, findings)
  return operations.map((operation, index) => ({ id: ids[index] as string, ...operation }))
}

function listOperationsOf(
  document: OpenApiDocument,
  declared: unknown,
  route: string,
  findings: Findings,
): Omit<DeclaredOperation, 'id'>[] {
  const path = ['paths', route]
  if (!route.startsWith('/')) {
    findings.fault(path, `The path ${JSON.stringify(route)} must begin with a slash.`)
    return []
  }
  const item = resolve(document, declared, path, findings)
  if (!item) return []
  return Object.keys(item.value).flatMap((key) => {
    if (!isMethod(key)) return []
    const node = resolve(document, item.value[key], [...item.path, key], findings)
    return node ? [{ method: key, route, item, ...node }] : []
  })
}

/** Resolves the references in a list of parameters. */
export function resolveParameters(
  document: OpenApiDocument,
  list: unknown,
  path: DocumentPath,
  findings: Findings,
): DocumentNode[] {
  if (list === undefined) return []
  if (!Array.isArray(list)) {
    findings.fault(path, 'parameters must be a list.')
    return []
  }
  return list.flatMap((item, index) => {
    const node = resolve(document, item, [...path, index], findings)
    if (!node) return []
    if (typeof node.value.name === 'string' && typeof node.value.in === 'string') return [node]
    findings.fault(node.path, 'A parameter needs "name" and "in".')
    return []
  })
}
