import { isPlainObject } from '../../json/is-plain-object.ts'
import { type DocumentPath, type Fields, type OpenApiDocument, resolve } from '../document.ts'
import type { Findings } from '../findings.ts'
import type { DeclaredOperation } from '../list-operations.ts'

/** How a credential is sent. */
export type SecurityScheme =
  | {
      readonly kind: 'api_key'
      readonly place: 'header' | 'query' | 'cookie'
      readonly name: string
    }
  | { readonly kind: 'basic' }
  /** `prefix`: the word before the credential in `Authorization`. */
  | { readonly kind: 'bearer'; readonly prefix: string }
  | { readonly kind: 'oauth2'; readonly tokenUrl: string | undefined }
  | { readonly kind: 'unsupported'; readonly reason: string }

/** One scheme that a call needs, with the scopes of its credential. */
export interface SchemeUse {
  readonly name: string
  readonly scheme: SecurityScheme
  /** As the document has it. */
  readonly declared: Fields
  readonly scopes: readonly string[]
}

/** The alternatives for an operation, in their order; each lists the schemes that it needs together. */
export type SecurityAlternatives = readonly (readonly SchemeUse[])[]

export function readSecurity(
  document: OpenApiDocument,
  { value, path }: DeclaredOperation,
  findings: Findings,
): SecurityAlternatives {
  const isOverridden = value.security !== undefined
  const security = isOverridden ? value.security : document.root.security
  const at = isOverridden ? [...path, 'security'] : ['security']
  if (security === undefined) return [[]]
  if (!Array.isArray(security)) {
    findings.fault(at, 'security must be a list.')
    return []
  }
  // An empty list means none, and so does an empty mapping.
  if (security.length === 0) return [[]]
  return security.flatMap((item, index) => {
    const requirement = resolve(document, item, [...at, index], findings)?.value
    if (!requirement) return []
    const uses = Object.entries(requirement).map(([name, scopes]) =>
      toUse(document, name, scopes, [...at, index, name], findings),
    )
    return splitByPlace(uses, [...at, index], findings)
  })
}

/**
 * Credentials that need the same header, such as a token and an API key in `Authorization`, cannot be sent
 * together: documents that ask for both mean either of them.
 */
function splitByPlace(
  uses: readonly SchemeUse[],
  path: DocumentPath,
  findings: Findings,
): readonly (readonly SchemeUse[])[] {
  const places = new Map<string, SchemeUse[]>()
  for (const use of uses) places.set(toPlace(use), [...(places.get(toPlace(use)) ?? []), use])
  const shared = [...places.values()].filter((one) => one.length > 1)
  const alternatives = shared.reduce((product, one) => product * one.length, 1)
  if (alternatives === 1) return [uses]
  if (alternatives > maxAlternatives) {
    findings.fault(path, `More than ${maxAlternatives} combinations of schemes are possible.`)
    return []
  }
  const names = shared.map((one) => one.map(({ name }) => name).join(' and ')).join('; ')
  findings.remark(path, `${names} need the same place in the request; either of them is sent.`)
  return [...places.values()].reduce<readonly (readonly SchemeUse[])[]>(
    (lists, one) => lists.flatMap((list) => one.map((use) => [...list, use])),
    [[]],
  )
}

const maxAlternatives = 16

/** Where a credential is sent, in one text; names of headers are case-insensitive. */
export function toPlace({ name, scheme }: SchemeUse): string {
  if (scheme.kind === 'unsupported') return `unsupported ${name}`
  if (scheme.kind !== 'api_key') return 'header authorization'
  return `${scheme.place} ${scheme.place === 'header' ? scheme.name.toLowerCase() : scheme.name}`
}

function toUse(
  document: OpenApiDocument,
  name: string,
  scopes: unknown,
  path: DocumentPath,
  findings: Findings,
): SchemeUse {
  const declared = findScheme(document, name, path, findings)
  return {
    name,
    scheme: declared ? toScheme(declared) : { kind: 'unsupported', reason: 'it is not declared' },
    declared: declared ?? {},
    scopes: Array.isArray(scopes) ? scopes.map(String) : [],
  }
}

function findScheme(
  document: OpenApiDocument,
  name: string,
  path: DocumentPath,
  findings: Findings,
): Fields | undefined {
  const place = ['components', 'securitySchemes']
  const { components } = document.root
  const schemes = isPlainObject(components)
    ? resolve(document, components.securitySchemes, place, findings)?.value
    : undefined
  const node =
    schemes && Object.hasOwn(schemes, name)
      ? resolve(document, schemes[name], [...place, name], findings)
      : undefined
  if (!node) findings.fault(path, `components.securitySchemes has no scheme ${name}.`)
  return node?.value
}

function toScheme({ type, scheme, name, in: place, flows }: Fields): SecurityScheme {
  switch (type) {
    case 'apiKey':
      return (place === 'header' || place === 'query' || place === 'cookie') &&
        typeof name === 'string'
        ? { kind: 'api_key', place, name }
        : {
            kind: 'unsupported',
            reason: 'an apiKey needs "name", and "in" header, query or cookie',
          }
    case 'http':
      return toHttpScheme(String(scheme ?? ''))
    case 'oauth2':
      return { kind: 'oauth2', tokenUrl: findTokenUrl(flows) }
    case 'openIdConnect':
      return { kind: 'bearer', prefix: 'Bearer' }
    case 'mutualTLS':
      return { kind: 'unsupported', reason: 'client certificates (mutualTLS) are not supported' }
    default:
      return { kind: 'unsupported', reason: `the type ${JSON.stringify(type)} is not supported` }
  }
}

/** Schemes whose header is more than one opaque word. */
const challengeSchemes = new Set([
  'digest',
  'hoba',
  'mutual',
  'negotiate',
  'ntlm',
  'scram-sha-1',
  'scram-sha-256',
  'signature',
  'vapid',
  'dpop',
  'hawk',
])

function toHttpScheme(scheme: string): SecurityScheme {
  const name = scheme.toLowerCase()
  if (name === 'basic') return { kind: 'basic' }
  if (name === 'bearer') return { kind: 'bearer', prefix: 'Bearer' }
  if (challengeSchemes.has(name) || !/^[\w-]+$/.test(scheme))
    return {
      kind: 'unsupported',
      reason: `the HTTP scheme ${JSON.stringify(scheme)} is not supported`,
    }
  return { kind: 'bearer', prefix: scheme }
}

function findTokenUrl(flows: unknown): string | undefined {
  const flow = isPlainObject(flows) ? flows.clientCredentials : undefined
  return isPlainObject(flow) && typeof flow.tokenUrl === 'string' ? flow.tokenUrl : undefined
}

/** The names of all security schemes of a document. */
export function listSchemeNames({ root }: OpenApiDocument): ReadonlySet<string> {
  const schemes = isPlainObject(root.components) ? root.components.securitySchemes : undefined
  return new Set(isPlainObject(schemes) ? Object.keys(schemes) : [])
}
