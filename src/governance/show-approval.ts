import type { Call } from '../capability/call.ts'
import type { ApprovalView } from './ledger.ts'

const longest = 4000

/** What a human needs to see to say yes or no, from what is known for sure. */
export function toView({ capability, given, plan }: Call): ApprovalView {
  const { description, effects, origin, rules } = capability
  const words = [
    effects.writes
      ? effects.irreversible
        ? 'changes something for good'
        : 'changes something'
      : 'only reads',
    ...(effects.reachesOut ? ['talks to other systems'] : []),
  ]
  const cost = rules.cost ? `${rules.cost.amount} ${rules.cost.unit}` : undefined
  const costs = [cost && `costs ${cost}`, ...(plan.standings ?? [])].filter(Boolean).join('. ')
  return {
    source: `${origin.source}${origin.pointer === '' ? '' : `#${origin.pointer}`}`,
    description: toSafe(description),
    arguments: toSafe(JSON.stringify(given, null, 2) ?? '{}'),
    effects: words.join(', '),
    ...(costs !== '' && { cost: costs }),
  }
}

export const toMessage = (capability: string, shown: ApprovalView): string =>
  [
    `Allow ${capability}? It ${shown.effects}.`,
    `Arguments: ${shown.arguments}`,
    `What it is for: ${shown.description}`,
    ...(shown.cost === undefined ? [] : [`Cost: ${shown.cost}`]),
    `From: ${shown.source}`,
  ].join('\n')

/** Nothing in it may move the cursor, hide itself or turn the reading direction. */
function toSafe(text: string): string {
  const visible = text.replaceAll(
    /[^\P{C}\n\t]|[\u2028\u2029]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
  return visible.length <= longest
    ? visible
    : `${visible.slice(0, longest)}… (${visible.length - longest} more characters)`
}
