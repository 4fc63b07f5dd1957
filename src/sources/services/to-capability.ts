import { isDeepStrictEqual } from 'node:util'
import type { Call } from '../../capability/call.ts'
import type { Capability, Origin } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { readOnly } from '../../capability/effects.ts'
import { type Fault, isFault } from '../../capability/fault.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toPointer } from '../../json/to-pointer.ts'
import { toName, toPortableName, toSegments } from './address.ts'
import { anyObject } from './contracts.ts'
import { serviceFailed } from './failures.ts'
import type { ServiceSettings } from './options.ts'
import type { Service, ServiceAction } from './service.ts'
import { toEffects } from './to-effects.ts'
import { type ActionInput, toInput } from './to-input.ts'
import { toOutcome } from './to-outcome.ts'

/** An action that was declared at some time, whether or not it is offered now. */
export interface DeclaredAction {
  readonly name: string
  readonly place: ServicePlace
  readonly declaration: Pick<ServiceAction, 'description' | 'schema' | 'parameters'>
  readonly capability: Capability
  /** Not listed; tells callers with an outdated tool list that the action was withdrawn. */
  readonly tombstone: Capability
  readonly diagnostics: readonly Diagnostic[]
}

/** Finds the action and its service at the moment of a call. */
export interface ActionLookup {
  /** Returns nothing if the action is not offered now, or was redeclared differently. */
  find(
    action: DeclaredAction,
  ): { readonly service: Service; readonly action: ServiceAction } | undefined
  readonly settings: ServiceSettings
}

/** The links that lead to a service, and the key of one of its entries. */
export interface ServicePlace {
  readonly path: readonly string[]
  readonly key: string
}

export function toCapability(
  { path, key }: ServicePlace,
  declaration: DeclaredAction['declaration'],
  lookup: ActionLookup,
): DeclaredAction | Fault {
  const { settings } = lookup
  const name = toName(path, key)
  const origin = { source: settings.id, pointer: toPointer(toSegments(path, 'actions', key)) }
  const input = toInput(declaration)
  if (isFault(input)) return input
  const { description } = declaration
  const isDescribed = typeof description === 'string' && description !== ''
  const base = {
    name,
    ...dropUndefined({ portableName: path.length > 0 ? toPortableName(path, key) : undefined }),
    description: isDescribed ? description : `The action ${name}.`,
    extras: {},
    origin,
  }
  const declaredAction: DeclaredAction = {
    name,
    place: { path, key },
    declaration,
    diagnostics: toDiagnostics(name, origin, input, isDescribed),
    capability: Object.freeze({
      ...base,
      input: input.contract,
      effects: toEffects(settings, name),
      rules: { ...noRules, repeatsAreMeant: true },
      invoke: (call: Call) => run(declaredAction, input, lookup, call),
    }),
    tombstone: Object.freeze({
      ...base,
      input: anyObject,
      effects: readOnly,
      rules: noRules,
      hidden: true,
      invoke: async (call: Call) => refuse(declaredAction, lookup, call),
    }),
  }
  return declaredAction
}

export const isSameAction = (
  a: DeclaredAction['declaration'],
  b: DeclaredAction['declaration'],
): boolean =>
  a === b ||
  (a.description === b.description &&
    isDeepStrictEqual(a.schema, b.schema) &&
    isDeepStrictEqual(a.parameters, b.parameters))

function toDiagnostics(
  name: string,
  at: Origin,
  input: ActionInput,
  isDescribed: boolean,
): Diagnostic[] {
  const { source, pointer } = at
  const diagnostics: Diagnostic[] = input.strippedKeywords.map((keyword) => ({
    code: 'keyword_stripped',
    severity: 'info',
    message: `${name}: ${keyword.split('/').at(-1)} is not a JSON Schema keyword and is removed from the schema.`,
    source,
    pointer: `${pointer}${keyword}`,
  }))
  if (isDescribed) return diagnostics
  const message = `${name} has no description; a model can only guess from its name.`
  return [...diagnostics, { code: 'description_missing', severity: 'warning', message, ...at }]
}

/** Lookup and execution are in one synchronous step: the action cannot be withdrawn in between. */
async function run(
  declaredAction: DeclaredAction,
  input: ActionInput,
  lookup: ActionLookup,
  call: Call,
): Promise<Outcome> {
  const target = lookup.find(declaredAction)
  if (!target) return refuse(declaredAction, lookup, call)
  const callInput = isPlainObject(call.input) ? call.input : {}
  const { service, action } = target
  const { strings } = lookup.settings
  const args = input.toArguments(callInput)
  const isPositional = action.parameters !== undefined
  // Older services run actions by name with one input; positional arguments need `action.execute`.
  if (service.execute && !(isPositional && action.execute)) {
    const { key } = declaredAction.place
    const result = await service.execute(key, args.length === 0 ? callInput : args[0])
    return toOutcome(result, strings ?? 'error')
  }
  const execute = action.execute as ((...args: readonly unknown[]) => unknown) | undefined
  if (!execute) return refuse(declaredAction, lookup, call)
  return toOutcome(
    await execute.apply(action, [...args]),
    strings ?? (isPositional ? 'data' : 'error'),
  )
}

/** Available actions named in a refusal. */
const maxListedNames = 50

function refuse({ name }: DeclaredAction, { settings }: ActionLookup, call: Call): Failed {
  const calledName = call.capability.name
  const available = call.listing
    .capabilities()
    .filter(({ origin }) => origin.source === settings.id && origin.pointer.includes('/actions/'))
    .filter((capability) => capability.name !== calledName)
    .map((capability) => capability.name)
  const listedNames = available.slice(0, maxListedNames)
  const isTruncated = available.length > maxListedNames
  const details = {
    available: listedNames,
    ...dropUndefined({ more: isTruncated ? available.length - maxListedNames : undefined }),
  }
  const alternatives =
    listedNames.length === 0
      ? 'No other action is available.'
      : `Available now: ${listedNames.join(', ')}${isTruncated ? ', …' : ''}.`
  if (settings.visibility === 'stable') {
    const reason =
      findReason(settings, name) ?? 'the service does not offer it in its current state'
    const message = `${calledName} is not available now: ${reason}. Nothing was run. It may be available later.`
    return serviceFailed('unavailable_now', message, { details: { reason }, retryable: true })
  }
  const message = `${calledName} was withdrawn or changed by the service. Nothing was run. ${alternatives}`
  return serviceFailed('action_withdrawn', message, { details })
}

/** `reason` is user code: an exception counts as no reason. */
function findReason({ reason }: ServiceSettings, name: string): string | undefined {
  try {
    return reason(name)
  } catch {
    return undefined
  }
}
