import { isDeepStrictEqual } from 'node:util'
import type { View } from '../../capability/capability.ts'
import { toPointer } from '../../capability/contract.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { reads } from '../../capability/effects.ts'
import type { Json } from '../../capability/json.ts'
import type { Outcome } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { toName, toSegments, toUri } from './address.ts'
import { anyObject, toUncheckedContract } from './contracts.ts'
import { serviceFailed } from './failures.ts'
import type { ServicePlace } from './to-capability.ts'
import type { ServiceState } from './service.ts'
import { toJson, toJsonSchema } from './to-json-schema.ts'

/** A state of a service: what is known of it for good, and its value, which is not. */
export interface ExposedState {
  readonly name: string
  readonly schema: unknown
  readonly view: View
  readonly diagnostics: readonly Diagnostic[]
  /** The value as JSON: compared as text, because services change objects in place. */
  readonly text: string
}

export function toView(
  { path, key }: ServicePlace,
  schema: unknown,
  source: string,
  textNow: () => string | undefined,
): Omit<ExposedState, 'text'> | { readonly fault: string } {
  const name = toName(path, key)
  const at = { source, pointer: toPointer(toSegments(path, 'states', key)) }
  const reading = schema === undefined ? { schema: {}, stripped: [] } : toJsonSchema(schema)
  if ('fault' in reading) return reading
  const uri = toUri(source, 'state', ...path, key)
  const { title, description } = reading.schema
  const view: View = Object.freeze({
    name,
    ...(typeof title === 'string' && { title }),
    description: typeof description === 'string' ? description : `The state ${name}.`,
    input: anyObject,
    output: toUncheckedContract(reading.schema),
    effects: reads,
    rules: noRules,
    origin: at,
    extras: {},
    uri,
    mimeType: 'application/json',
    invoke: async (): Promise<Outcome> => {
      const words = textNow()
      if (words === undefined)
        return serviceFailed('unknown_state', `The state ${name} is not shown any more.`)
      const resource = { uri, mimeType: 'application/json', text: words }
      return { kind: 'done', content: [{ type: 'resource', resource }] }
    },
  })
  return { name, schema, view, diagnostics: toRemarks(name, at, reading.stripped) }
}

/** Nothing is said of a value that is not there yet: JSON calls that null. */
export const toText = (value: unknown): string | undefined => {
  const json: Json | undefined = value === undefined ? null : toJson(value)
  return json === undefined ? undefined : JSON.stringify(json)
}

export const isSameSchema = (a: unknown, b: unknown): boolean => a === b || isDeepStrictEqual(a, b)

export const isState = (value: unknown): value is ServiceState =>
  typeof value === 'object' && value !== null && 'value' in value

const toRemarks = (
  name: string,
  { source, pointer }: { source: string; pointer: string },
  stripped: readonly string[],
): Diagnostic[] =>
  stripped.map((place) => ({
    code: 'keyword_stripped',
    severity: 'info',
    message: `${name}: ${place.split('/').at(-1)} is not JSON Schema; clients see the schema without it.`,
    source,
    pointer: `${pointer}/schema${place}`,
  }))
