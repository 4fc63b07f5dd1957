import type { Call } from '../../capability/call.ts'
import type { Outcome } from '../../capability/outcome.ts'

/** One thing every call must pass. It refuses, or hands the call (or a new one) on. */
export type Step = (call: Call, next: Next) => Promise<Outcome>

export type Next = (call: Call) => Promise<Outcome>
