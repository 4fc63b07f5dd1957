import { isPlainObject } from '../../json/is-plain-object.ts'
import { type OpenApiDocument, resolve } from '../document.ts'
import type { Findings } from '../findings.ts'
import type { DeclaredOperation } from '../list-operations.ts'

/** One declared response. */
export interface DeclaredResponse {
  readonly description: string
  readonly mediaTypes: readonly string[]
  /** Names of the declared headers, in lower case. */
  readonly headers: readonly string[]
}

/** By status code, by class (`4xx`), or `default`. */
export type Responses = ReadonlyMap<string, DeclaredResponse>

export function readResponses(
  document: OpenApiDocument,
  { value, path }: DeclaredOperation,
  findings: Findings,
): Responses {
  const at = [...path, 'responses']
  const responses = resolve(document, value.responses, at, findings)?.value ?? {}
  return new Map(
    Object.keys(responses).flatMap((status): [string, DeclaredResponse][] => {
      if (status.startsWith('x-')) return []
      const node = resolve(document, responses[status], [...at, status], findings)
      if (!node) return []
      const { description, content, headers } = node.value
      return [
        [
          status.toLowerCase(),
          {
            description: typeof description === 'string' ? description.trim() : '',
            mediaTypes: isPlainObject(content) ? Object.keys(content) : [],
            headers: isPlainObject(headers)
              ? Object.keys(headers).map((name) => name.toLowerCase())
              : [],
          },
        ],
      ]
    }),
  )
}

export const findResponse = (responses: Responses, status: number): DeclaredResponse | undefined =>
  responses.get(String(status)) ??
  responses.get(`${Math.floor(status / 100)}xx`) ??
  responses.get('default')

/** The media types of successful responses; other types are accepted too, because documents are incomplete. */
export function toAccept(responses: Responses): string {
  const types = new Set<string>()
  for (const [status, { mediaTypes }] of responses)
    if (status.startsWith('2') || status === 'default')
      for (const type of mediaTypes) if (isMediaRange(type)) types.add(type)
  if (types.size === 0) types.add('application/json')
  types.delete('*/*')
  return [...types, '*/*;q=0.1'].join(', ')
}

const isMediaRange = (type: string): boolean => /^[\w.+*-]+\/[\w.+*-]+$/.test(type)
