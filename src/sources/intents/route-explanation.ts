import type { RoutingDecision } from './router/choose-agents.ts'

/** The decision that the router would make. */
export interface RouteExplanation {
  readonly step: 'route'
  readonly would: 'pass' | 'refuse'
  readonly code?: string
  readonly why: string
}

/** The agents that would be asked, in order, and why the others would be skipped. */
export function toRouteExplanation(decision: RoutingDecision): RouteExplanation {
  const { strategy, plan, candidates, refusal, order } = decision
  if (refusal) return { step: 'route', would: 'refuse', code: refusal.code, why: refusal.message }
  const separator = strategy === 'fallback' ? ', then ' : ', '
  const skipped = candidates.flatMap(({ agent, skipped }) =>
    skipped ? [`${agent} (${skipped.replaceAll('_', ' ')})`] : [],
  )
  const others = skipped.length > 0 ? `; not ${skipped.join(', ')}` : ''
  const why = `${strategy}, order of the ${order}: ${plan.join(separator)}${others}`
  return { step: 'route', would: 'pass', why }
}
