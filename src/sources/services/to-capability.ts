import { isDeepStrictEqual } from 'node:util'
import type { Call } from '../../capability/call.ts'
import type { Capability, Origin } from '../../capability/capability.ts'
import { toPointer } from '../../capability/contract.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { reads } from '../../capability/effects.ts'
import { isPlainObject } from '../../capability/json.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { toName, toPortableName, toSegments } from './address.ts'
import { anyObject } from './contracts.ts'
import { serviceFailed } from './failures.ts'
import type { ServiceSettings } from './options.ts'
import type { Service, ServiceAction } from './service.ts'
import { toEffects } from './to-effects.ts'
import { type ActionInput, toInput } from './to-input.ts'
import { toOutcome } from './to-outcome.ts'

/** An action of a service as it was declared once, whether it is offered now or not. */
export interface DeclaredAction {
  readonly name: string
  readonly place: ServicePlace
  readonly declaration: Pick<ServiceAction, 'description' | 'schema' | 'parameters'>
  readonly capability: Capability
  /** Answers, unseen, those who still know it from an older list. */
  readonly tombstone: Capability
  readonly diagnostics: readonly Diagnostic[]
}

/** What an action needs to know of the service at the moment it is called. */
export interface ActionLookup {
  /** The action as it is offered now, if it is still this one. */
  find(
    known: DeclaredAction,
  ): { readonly service: Service; readonly action: ServiceAction } | undefined
  readonly settings: ServiceSettings
}

export interface ServicePlace {
  readonly path: readonly string[]
  readonly key: string
}

export function toCapability(
  { path, key }: ServicePlace,
  declared: DeclaredAction['declaration'],
  present: ActionLookup,
): DeclaredAction | { readonly fault: string } {
  const { settings } = present
  const name = toName(path, key)
  const origin = { source: settings.id, pointer: toPointer(toSegments(path, 'actions', key)) }
  const input = toInput(declared)
  if ('fault' in input) return input
  const { description } = declared
  const isDescribed = typeof description === 'string' && description !== ''
  const base = {
    name,
    ...(path.length > 0 && { portableName: toPortableName(path, key) }),
    description: isDescribed ? description : `The action ${name}.`,
    extras: {},
    origin,
  }
  const known: DeclaredAction = {
    name,
    place: { path, key },
    declaration: declared,
    diagnostics: toRemarks(name, origin, input, isDescribed),
    capability: Object.freeze({
      ...base,
      input: input.contract,
      effects: toEffects(settings, name),
      rules: { ...noRules, repeatsAreMeant: true },
      invoke: (call: Call) => run(known, key, input, present, call),
    }),
    tombstone: Object.freeze({
      ...base,
      input: anyObject,
      effects: reads,
      rules: noRules,
      hidden: true,
      invoke: async (call: Call) => refuse(known, present, call),
    }),
  }
  return known
}

export const isSameAction = (a: DeclaredAction['declaration'], b: DeclaredAction['declaration']): boolean =>
  a === b ||
  (a.description === b.description &&
    isDeepStrictEqual(a.schema, b.schema) &&
    isDeepStrictEqual(a.parameters, b.parameters))

function toRemarks(name: string, at: Origin, input: ActionInput, isDescribed: boolean): Diagnostic[] {
  const { source, pointer } = at
  const remarks: Diagnostic[] = input.stripped.map((place) => ({
    code: 'keyword_stripped',
    severity: 'info',
    message: `${name}: ${place.split('/').at(-1)} is not JSON Schema; clients see the schema without it.`,
    source,
    pointer: `${pointer}${place}`,
  }))
  if (isDescribed) return remarks
  const message = `${name} has no description; a model can only guess from its name.`
  return [...remarks, { code: 'description_missing', severity: 'warning', message, ...at }]
}

/** Between looking whether it is still offered and calling it, nothing else happens. */
async function run(
  known: DeclaredAction,
  key: string,
  input: ActionInput,
  present: ActionLookup,
  call: Call,
): Promise<Outcome> {
  const found = present.find(known)
  if (!found) return refuse(known, present, call)
  const given = isPlainObject(call.input) ? call.input : {}
  const { service, action } = found
  const { strings } = present.settings
  const args = input.toArguments(given)
  const isPositional = action.parameters !== undefined
  // The older shape is called the way its service says; only an action itself takes several arguments.
  if (service.execute && !(isPositional && action.execute)) {
    const answer = await service.execute(key, args.length === 0 ? given : args[0])
    return toOutcome(answer, strings ?? 'error')
  }
  const execute = action.execute as ((...args: readonly unknown[]) => unknown) | undefined
  if (!execute) return refuse(known, present, call)
  return toOutcome(
    await execute.apply(action, [...args]),
    strings ?? (isPositional ? 'data' : 'error'),
  )
}

const mostNamed = 50

function refuse({ name }: DeclaredAction, { settings }: ActionLookup, call: Call): Failed {
  const called = call.capability.name
  const available = call.reach
    .capabilities()
    .filter(({ origin }) => origin.source === settings.id && origin.pointer.includes('/actions/'))
    .filter((capability) => capability.name !== called)
    .map((capability) => capability.name)
  const named = available.slice(0, mostNamed)
  const details = {
    available: named,
    ...(available.length > mostNamed && { more: available.length - mostNamed }),
  }
  const words =
    named.length === 0
      ? 'Nothing else is.'
      : `Available now: ${named.join(', ')}${available.length > mostNamed ? ', …' : ''}.`
  if (settings.visibility === 'stable') {
    const reason =
      findReason(settings, name) ?? 'the service does not offer it in its present state'
    const message = `${called} is not available now: ${reason}. Nothing was run. It may be available later.`
    return serviceFailed('unavailable_now', message, { details: { reason }, retryable: true })
  }
  const message = `${called} was withdrawn by the service, or is something else now. Nothing was run. ${words}`
  return serviceFailed('action_withdrawn', message, { details })
}

/** Somebody else's function: it may know, and it may fail. */
function findReason({ reason }: ServiceSettings, name: string): string | undefined {
  try {
    return reason(name)
  } catch {
    return undefined
  }
}
