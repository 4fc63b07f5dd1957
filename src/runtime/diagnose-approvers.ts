import { approvalScope } from '../capability/caller.ts'
import type { Capability } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { hasScope } from '../governance/permits.ts'
import { type PolicyRule, toMatcher } from '../governance/policy.ts'
import type { Config } from './config/config-shape.ts'

type Tokens = Config['http']['tokens']
type Finding = Pick<Diagnostic, 'code' | 'severity'> & { readonly toMessage: ToMessage }
type ToMessage = (names: string) => string

/** Capabilities whose calls need an approval that nobody can give, once for each rule that causes it. */
export function diagnoseApprovers(
  rules: readonly PolicyRule[],
  capabilities: readonly Capability[],
  tokens: Tokens,
): Diagnostic[] {
  const namesByProblem = new Map<string, Set<string>>()
  const problems = capabilities.flatMap((capability) => {
    const finding = findProblem(capability, tokens)
    if (!finding) return []
    const place = toPlace(capability, rules)
    const id = `${finding.code} ${place.source}#${place.pointer}`
    const names = namesByProblem.get(id) ?? new Set()
    namesByProblem.set(id, names.add(capability.name))
    return names.size === 1 ? [{ finding, place, names }] : []
  })
  return problems.map(({ finding: { toMessage, ...finding }, place, names }) => ({
    ...finding,
    ...place,
    message: toMessage(toText([...names])),
  }))
}

function findProblem({ rules }: Capability, tokens: Tokens): Finding | undefined {
  const { approval, approvers } = rules
  if (!approval || !Array.isArray(approvers)) return undefined
  if (approvers.length === 0)
    return {
      code: 'approvers_empty',
      severity: 'error',
      toMessage: (names) =>
        `Nobody can approve calls of ${names}: the lists of approvers that apply have no name in common. Add a common name, or remove a list.`,
    }
  if (!tokens || tokens.some((token) => approvers.includes(token.subject) && mayDecide(token)))
    return undefined
  return {
    code: 'approvers_without_token',
    severity: 'warning',
    toMessage: (names) =>
      `Nobody can approve calls of ${names} over HTTP: no token of ${approvers.join(', ')} holds ${approvalScope}. Add one to http.tokens, or decide with "drawbridge approvals".`,
  }
}

const mayDecide = ({ subject, scopes }: NonNullable<Tokens>[number]): boolean =>
  hasScope({ subject, scopes: new Set(scopes) }, approvalScope)

/** The last rule with a list: it is the one that was added to the others. */
function toPlace(
  capability: Capability,
  rules: readonly PolicyRule[],
): Pick<Diagnostic, 'source' | 'pointer'> {
  const index = rules.findLastIndex(
    (rule) => Array.isArray(rule.approvers) && toMatcher(rule)(capability),
  )
  const { source, pointer } = capability.origin
  return index < 0
    ? { source, pointer }
    : { source: 'configuration', pointer: `/policy/rules/${index}/approvers` }
}

const maxNames = 3

const toText = (names: readonly string[]): string =>
  names.length <= maxNames
    ? names.join(', ')
    : `${names.slice(0, maxNames).join(', ')} and ${names.length - maxNames} more`
