import { isDeepStrictEqual } from 'node:util'
import type { View } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { readOnly } from '../../capability/effects.ts'
import { type Fault, isFault } from '../../capability/fault.ts'
import type { Json } from '../../capability/json.ts'
import type { Outcome } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { toPointer } from '../../json/to-pointer.ts'
import { toName, toSegments, toUri } from './address.ts'
import { anyObject, toUncheckedContract } from './contracts.ts'
import { serviceFailed } from './failures.ts'
import type { ServiceState } from './service.ts'
import type { ServicePlace } from './to-capability.ts'
import { toJson, toJsonSchema } from './to-json-schema.ts'

/** A state of a service as a view, with its current value. */
export interface ExposedState {
  readonly name: string
  readonly schema: unknown
  readonly view: View
  readonly diagnostics: readonly Diagnostic[]
  /** The value as JSON. Compared as text, because services may mutate objects in place. */
  readonly text: string
}

export function toView(
  { path, key }: ServicePlace,
  schema: unknown,
  source: string,
  currentText: () => string | undefined,
): Omit<ExposedState, 'text'> | Fault {
  const name = toName(path, key)
  const origin = { source, pointer: toPointer(toSegments(path, 'states', key)) }
  const reading = schema === undefined ? { schema: {}, strippedKeywords: [] } : toJsonSchema(schema)
  if (isFault(reading)) return reading
  const uri = toUri(source, 'state', ...path, key)
  const { title, description } = reading.schema
  const view: View = Object.freeze({
    name,
    ...dropUndefined({ title: typeof title === 'string' ? title : undefined }),
    description: typeof description === 'string' ? description : `The state ${name}.`,
    input: anyObject,
    output: toUncheckedContract(reading.schema),
    effects: readOnly,
    rules: noRules,
    origin,
    extras: {},
    uri,
    mimeType: 'application/json',
    invoke: async (): Promise<Outcome> => {
      const text = currentText()
      if (text === undefined)
        return serviceFailed('unknown_state', `The state ${name} no longer exists.`)
      const resource = { uri, mimeType: 'application/json', text }
      return { kind: 'done', content: [{ type: 'resource', resource }] }
    },
  })
  return { name, schema, view, diagnostics: toDiagnostics(name, origin, reading.strippedKeywords) }
}

/** `undefined` becomes `null`: the state exists but has no value yet. */
export const toText = (value: unknown): string | undefined => {
  const json: Json | undefined = value === undefined ? null : toJson(value)
  return json === undefined ? undefined : JSON.stringify(json)
}

export const isSameSchema = (a: unknown, b: unknown): boolean => a === b || isDeepStrictEqual(a, b)

export const isState = (value: unknown): value is ServiceState =>
  typeof value === 'object' && value !== null && 'value' in value

const toDiagnostics = (
  name: string,
  { source, pointer }: { source: string; pointer: string },
  strippedKeywords: readonly string[],
): Diagnostic[] =>
  strippedKeywords.map((keyword) => ({
    code: 'keyword_stripped',
    severity: 'info',
    message: `${name}: ${keyword.split('/').at(-1)} is not a JSON Schema keyword and is removed from the schema.`,
    source,
    pointer: `${pointer}/schema${keyword}`,
  }))
