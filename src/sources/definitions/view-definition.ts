import { z } from 'zod'
import type { Capability, Origin, View } from '../../capability/capability.ts'
import type { Document } from '../../capability/content.ts'
import { readOnly } from '../../capability/effects.ts'
import { isFault } from '../../capability/fault.ts'
import { done } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { type Completer, toCompletion } from './completion.ts'
import { isReply, outcomeOf } from './reply.ts'
import { toContext } from './to-context.ts'
import type { ToolContext } from './tool-definition.ts'

/** A resource: something readable at a URI, or at all URIs of a template. */
export interface ViewDefinition {
  /** A URI, or an RFC 6570 template such as `notes://{id}`. */
  readonly uri: string
  /** The identifier; shown where there is no `title`. */
  readonly name: string
  /** A name for people, shown in user interfaces. */
  readonly title?: string
  /** Tells clients what can be read at the URI. */
  readonly description: string
  /** The media type of what is read, such as `text/markdown`. */
  readonly mimeType?: string
  /** Scopes that a caller must hold, all of them. */
  readonly permissions?: readonly string[]
  /** Suggests values for the variables of the template while a person types, by variable name. */
  readonly complete?: Readonly<Record<string, Completer>>
  /** Returns text, documents (`{ uri, text | blob }`), or data that is sent as JSON. */
  read(variables: Readonly<Record<string, string>>, context: ToolContext): unknown
}

/** The expressions of a template: `a://{x}/{?y,z}` has `x` and `?y,z`. */
type Expressions<Uri extends string> = Uri extends `${string}{${infer Expression}}${infer Rest}`
  ? Expression | Expressions<Rest>
  : never

type Variables<Expression extends string> = Expression extends `${Operator}${infer List}`
  ? Split<List>
  : Split<Expression>

type Operator = '+' | '#' | '.' | '/' | '?' | '&'

type Split<List extends string> = List extends `${infer First},${infer Rest}`
  ? First | Split<Rest>
  : List

/** The variables of a template by name; an exploded one (`{path*}`) may have several values. */
type VariablesOf<Uri extends string> = string extends Uri
  ? Readonly<Record<string, string>>
  : {
      readonly [Variable in Variables<Expressions<Uri>> as Variable extends `${infer Name}*`
        ? Name
        : Variable]: Variable extends `${string}*` ? string | readonly string[] : string
    }

/**
 * Defines a view. Returns its argument; exists for its types: the variables of the URI template are
 * the keys of what `read` receives.
 *
 * @example
 * ```ts
 * import { readFile } from 'node:fs/promises'
 * import { defineView } from 'drawbridge-mcp'
 *
 * export const report = defineView({
 *   uri: 'reports://{year}',
 *   name: 'report',
 *   description: 'The annual report.',
 *   mimeType: 'text/markdown',
 *   read: ({ year }) => readFile(`reports/${Number(year)}.md`, 'utf8'),
 * })
 * ```
 */
export const defineView = <const Uri extends string>(
  view: Omit<ViewDefinition, 'uri' | 'complete' | 'read'> & {
    readonly uri: Uri
    readonly complete?: { readonly [Name in keyof VariablesOf<Uri>]?: Completer }
    read(variables: VariablesOf<Uri>, context: ToolContext): unknown
  },
): ViewDefinition => view as ViewDefinition

export const isView = (value: unknown): value is ViewDefinition =>
  isPlainObject(value) && typeof value.uri === 'string' && typeof value.read === 'function'

export function toViewCapability(view: ViewDefinition, origin: Origin): View {
  const input = readContract(z.record(z.string(), z.unknown()), 'input')
  if (isFault(input)) throw new Error(input.fault)
  const base: Capability = {
    name: view.name,
    ...dropUndefined({ title: view.title }),
    description: view.description,
    input: input.contract,
    effects: readOnly,
    rules: { ...noRules, permissions: view.permissions ?? [] },
    origin,
    extras: dropUndefined({ uri: view.uri, mimeType: view.mimeType }),
    invoke: async (call) => {
      const result = await view.read(call.input as Record<string, string>, toContext(call))
      if (isReply(result)) return outcomeOf(result)
      const documents = (Array.isArray(result) ? result : [result]).filter(isDocument)
      if (documents.length === 0) return done(result)
      return {
        kind: 'done',
        content: documents.map((resource) => ({ type: 'resource', resource })),
      }
    },
  }
  const completion = toCompletion(base, Object.entries(view.complete ?? {}))
  return Object.freeze({
    ...base,
    uri: view.uri,
    ...dropUndefined({ mimeType: view.mimeType, completion }),
  })
}

const isDocument = (value: unknown): value is Document =>
  isPlainObject(value) &&
  typeof value.uri === 'string' &&
  (typeof value.text === 'string' || typeof value.blob === 'string')
