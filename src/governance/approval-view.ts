import type { Call } from '../capability/call.ts'
import type { Json, JsonObject } from '../capability/json.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { escapeHidden } from '../json/hidden-characters.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { findOwnKey, keyArgument } from './key-argument.ts'
import type { ApprovalView } from './ledger.ts'

const maxLength = 4000

/** The facts a human needs to decide, all of them from the definition and the call itself. */
export function toApprovalView(call: Call): ApprovalView {
  const { description, effects, origin, rules, destination } = call.capability
  const effectTexts = [
    effects.writes
      ? effects.irreversible
        ? 'makes a change that cannot be undone'
        : 'makes a change'
      : 'only reads',
    ...(effects.reachesOut ? ['contacts other systems'] : []),
  ]
  const cost = rules.cost ? `costs ${rules.cost.amount} ${rules.cost.unit}` : undefined
  const costs = [cost, ...(call.plan.budgetTexts ?? [])].filter(Boolean).join('. ')
  return dropUndefined({
    source: `${origin.source}${origin.pointer === '' ? '' : `#${origin.pointer}`}`,
    description: toVisible(description),
    arguments: toVisible(JSON.stringify(toArguments(call), null, 2) ?? '{}'),
    effects: effectTexts.join(', '),
    destination: destination && toVisible(toDestinationText(destination)),
    cost: costs === '' ? undefined : costs,
  })
}

function toArguments(call: Call): unknown {
  const key = findOwnKey(call)
  if (key === undefined || !isPlainObject(call.rawInput)) return call.rawInput
  return { ...call.rawInput, [keyArgument]: key }
}

export const toApprovalMessage = (capability: string, view: ApprovalView): string =>
  [
    `Allow ${capability}? It ${view.effects}.`,
    `Arguments: ${view.arguments}`,
    `Description: ${view.description}`,
    ...(view.destination === undefined ? [] : [`Destination: ${view.destination}`]),
    ...(view.cost === undefined ? [] : [`Cost: ${view.cost}`]),
    `From: ${view.source}`,
  ].join('\n')

/** An endpoint with its interface, or names of agents with their addresses. */
function toDestinationText(destination: JsonObject): string {
  const { interface: name, endpoint, url, agents, steps } = destination
  if (Array.isArray(agents)) return agents.map(toNamedTarget).join(', ') || 'no agent'
  if (Array.isArray(steps)) return steps.map(toNamedTarget).join(', then ')
  const address = toPublicAddress(endpoint ?? url)
  return name === undefined ? address : `${address} (${name})`
}

function toNamedTarget(target: Json): string {
  if (!isPlainObject(target)) return ''
  const { name, id, url, destination } = target
  const address = isPlainObject(destination)
    ? toDestinationText(destination as JsonObject)
    : toPublicAddress(url as Json | undefined)
  const label = String(name ?? id)
  return address === '' ? label : `${label} at ${address}`
}

/** Without user name, password, query and fragment, which may contain secrets. */
function toPublicAddress(address: Json | undefined): string {
  if (typeof address !== 'string') return ''
  if (!URL.canParse(address)) return address
  const { protocol, host, pathname } = new URL(address)
  return `${protocol}//${host}${pathname}`
}

function toVisible(text: string): string {
  const visible = escapeHidden(text)
  return visible.length <= maxLength
    ? visible
    : `${visible.slice(0, maxLength)}… (${visible.length - maxLength} more characters)`
}
