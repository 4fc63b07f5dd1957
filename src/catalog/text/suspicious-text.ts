import type { Capability, Prompt } from '../../capability/capability.ts'

/**
 * Text that hides from a person or gives orders to a model beyond its tool, as in published tool
 * poisoning attacks. A hint for the operator: nothing is changed or left out.
 */
const suspicions: readonly (readonly [RegExp, string])[] = [
  [/<!--/, 'has an HTML comment, which is not displayed'],
  [
    /^[ \t]{0,8}\[[^\]\n]{0,80}\]:[ \t]{0,8}(?:#|<>)[ \t]{0,8}[("']/m,
    'has a Markdown comment, which is not displayed',
  ],
  [
    /<[a-z][^>]{0,200}(?:display:\s*none|visibility:\s*hidden|font-size:\s*0|opacity:\s*0|\shidden[\s>])/i,
    'has markup that is not displayed',
  ],
  [
    /<\/?(?:important|system|secret|hidden|instructions?|admin|assistant)>|<\|im_(?:start|end)\|>|\[\/?INST\]/i,
    'has tags that imitate instructions of the system',
  ],
  [
    /\b(?:ignore|disregard|forget|override)\b[^.\n]{0,30}\b(?:previous|prior|earlier|above|preceding|all (?:other )?|your|system)\b[^.\n]{0,20}\b(?:instructions?|prompts?|rules|guidelines|directives)\b/i,
    'tells the model to ignore its instructions',
  ],
  [
    /\b(?:do not|don't|never|without)\b[^.\n]{0,20}\b(?:tell|telling|mention|mentioning|inform|informing|reveal|revealing|notify|notifying|alert|alerting)\b[^.\n]{0,40}\b(?:users?|human|person|anyone|operator)\b/i,
    'tells the model to keep something from the user',
  ],
  [
    /\b(?:before|after|when(?:ever)?)\s+(?:using|calling|invoking|you (?:use|call|invoke))\s+(?:any|every|all|other|another)\b/i,
    'gives orders about other tools',
  ],
  [
    /\b(?:read|open|send|pass|include|attach|upload|copy)\b[^.\n]{0,60}(?:~\/|\/etc\/|\.ssh\b|\bid_rsa\b|\.env\b|\bmcp\.json\b|\bprivate keys?\b|\bsystem prompt\b|\bconversation history\b|\bchat history\b)/i,
    'asks for files or for the conversation',
  ],
]

/** What is suspicious about the description, the title and the texts of the schemas. */
export function findSuspicions(capability: Capability): string[] {
  const { title, description, input, output } = capability
  const { parameters }: Partial<Prompt> = capability
  const texts: string[] = []
  collect([title, description, input.schema, output?.schema, parameters], texts)
  // Joined, because few large searches are faster than many small ones.
  const text = texts.join('\n\n')
  return suspicions.flatMap(([pattern, finding]) => (pattern.test(text) ? [finding] : []))
}

const maxLength = 20_000

function collect(value: unknown, texts: string[]): void {
  if (typeof value === 'string') {
    // Shorter strings are names and values, not sentences. The patterns are linear; the bound is for their number.
    if (value.length >= 8) texts.push(value.slice(0, maxLength))
  } else if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) collect(item, texts)
}
