import type { Capability } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { About } from '../../capability/source.ts'
import { escapeHidden } from '../../json/hidden-characters.ts'
import { cleanAbout, cleanCapability, type HiddenText } from './clean-capability.ts'
import { findSuspicions } from './suspicious-text.ts'

/** What happens to hidden characters: removed, or the capability is left out, or served as declared. */
export type TextPolicy = 'strip' | 'refuse' | 'keep'

export interface ServedTexts<T> {
  /** Absent when it must not be served. */
  readonly served?: T
  readonly diagnostics: readonly Diagnostic[]
}

/** Applies `policy.text` to a capability, view or prompt. Throws for values without JSON form. */
export function serveTexts<T extends Capability>(
  capability: T,
  policy: TextPolicy,
): ServedTexts<T> {
  const { name, origin } = capability
  const { clean, found } = cleanCapability(capability)
  const findings = findSuspicions(clean)
  const warning = `A text of ${JSON.stringify(name)} ${findings.join('; it ')}. Read it before you serve it.`
  const suspicions =
    findings.length === 0 ? [] : [toDiagnostic('suspicious_text', 'warning', warning, origin)]
  if (found.length === 0) return { served: clean, diagnostics: suspicions }
  const verdict = judge(found, policy)
  const served = { strip: clean, keep: capability, refuse: undefined }[verdict]
  const message = `${JSON.stringify(name)} ${toSentence(found)} ${consequences[verdict]}`
  const severity = served ? 'warning' : 'error'
  return {
    ...(served && { served }),
    diagnostics: [toDiagnostic('hidden_text', severity, message, origin), ...suspicions],
  }
}

/** Applies `policy.text` to the description of a source. A server needs one, so it is never left out. */
export function serveAbout(about: About, policy: TextPolicy, source: string): ServedTexts<About> {
  const { clean, found } = cleanAbout(about)
  if (found.length === 0) return { served: about, diagnostics: [] }
  const verdict = policy === 'keep' ? 'keep' : 'strip'
  const message = `The description of the source ${toSentence(found)} ${consequences[verdict]}`
  return {
    served: verdict === 'keep' ? about : clean,
    diagnostics: [toDiagnostic('hidden_text', 'warning', message, { source, pointer: '' })],
  }
}

/** Names, enumerated values and URIs cannot be stripped: calls would no longer match the contract. */
const judge = (found: readonly HiddenText[], policy: TextPolicy): TextPolicy =>
  policy === 'strip' && found.some(({ isFixed }) => isFixed) ? 'refuse' : policy

const consequences: Readonly<Record<TextPolicy, string>> = {
  strip: 'They are removed from what is served.',
  refuse: 'It is left out. Remove them, or allow them with "policy.text: keep".',
  keep: 'They are served, because "policy.text" is "keep".',
}

const maxListed = 5

function toSentence(found: readonly HiddenText[]): string {
  const places = found
    .slice(0, maxListed)
    .map(({ place, characters }) => `${place} (${characters.slice(0, maxListed).join(' ')})`)
  const more = found.length > maxListed ? ` and ${found.length - maxListed} more` : ''
  return `has hidden characters in ${places.join(', ')}${more}.`
}

const toDiagnostic = (
  code: string,
  severity: Diagnostic['severity'],
  message: string,
  { source, pointer }: { readonly source: string; readonly pointer: string },
): Diagnostic => ({ code, severity, message: escapeHidden(message), source, pointer })
