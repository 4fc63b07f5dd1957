import type { Call } from '../capability/call.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import type { ApprovalView } from './ledger.ts'

const maxLength = 4000

/** The facts a human needs to decide, all of them from the definition and the call itself. */
export function toApprovalView(call: Call): ApprovalView {
  const { description, effects, origin, rules } = call.capability
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
    description: escapeInvisible(description),
    arguments: escapeInvisible(JSON.stringify(call.rawInput, null, 2) ?? '{}'),
    effects: effectTexts.join(', '),
    cost: costs === '' ? undefined : costs,
  })
}

export const toApprovalMessage = (capability: string, view: ApprovalView): string =>
  [
    `Allow ${capability}? It ${view.effects}.`,
    `Arguments: ${view.arguments}`,
    `Description: ${view.description}`,
    ...(view.cost === undefined ? [] : [`Cost: ${view.cost}`]),
    `From: ${view.source}`,
  ].join('\n')

/** Escapes control and bidirectional characters, against spoofing in terminals and dialogs. */
function escapeInvisible(text: string): string {
  const visible = text.replaceAll(
    /[^\P{C}\n\t]|[\u2028\u2029]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
  return visible.length <= maxLength
    ? visible
    : `${visible.slice(0, maxLength)}… (${visible.length - maxLength} more characters)`
}
