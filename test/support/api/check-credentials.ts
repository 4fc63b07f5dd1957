import type { IncomingHttpHeaders } from 'node:http'
import { type ApiDocument, type Fields, isFields } from './api-document.ts'
import type { RawPairs } from './decode-parameters.ts'

/** What the API accepts for a security scheme. */
export interface AcceptedCredential {
  /** Key, token, or `user:password` of Basic. */
  readonly accepts: (value: string) => boolean
}

/** By the name of the security scheme. */
export type AcceptedCredentials = Readonly<Record<string, AcceptedCredential>>

export interface Presented {
  readonly headers: IncomingHttpHeaders
  readonly query: RawPairs
  readonly cookies: RawPairs
}

/** Names of the schemes that one alternative needs and that the request satisfies; else undefined. */
export function checkCredentials(
  document: ApiDocument,
  security: readonly Fields[],
  presented: Presented,
  accepted: AcceptedCredentials,
): readonly string[] | undefined {
  const names = [...new Set(security.flatMap((one) => Object.keys(one)))]
  const satisfied = new Set(
    names.filter((name) => {
      const value = readCredential(document, name, presented)
      return value !== undefined && accepted[name]?.accepts(value) === true
    }),
  )
  if (security.length === 0) return []
  const met = security
    .map((one) => Object.keys(one))
    .filter((schemes) => schemes.every((name) => satisfied.has(name)))
    .sort((a, b) => b.length - a.length)
  return met[0]
}

function readCredential(
  document: ApiDocument,
  name: string,
  { headers, query, cookies }: Presented,
): string | undefined {
  const schemes = document.isSwagger
    ? document.get(document.root, 'securityDefinitions')
    : document.get(document.root, 'components', 'securitySchemes')
  const { value } = document.get(schemes, name)
  if (!isFields(value)) return undefined
  const key = String(value.name ?? '')
  if (value.type === 'apiKey') {
    if (value.in === 'query') return single(query.takeCredential(key))
    if (value.in === 'cookie') return single(cookies.takeCredential(key))
    const header = headers[key.toLowerCase()]
    return typeof header === 'string' ? header : undefined
  }
  const scheme =
    value.type === 'basic' ? 'basic' : value.type === 'http' ? String(value.scheme) : 'bearer'
  const [word = '', ...rest] = (headers.authorization ?? '').split(' ')
  if (word.toLowerCase() !== scheme.toLowerCase()) return undefined
  const text = rest.join(' ')
  return scheme.toLowerCase() === 'basic' ? Buffer.from(text, 'base64').toString() : text
}

/** Two values for one key are none: a server could take either. */
const single = (values: readonly string[]): string | undefined =>
  values.length === 1 ? values[0] : undefined
