import type { Call } from '../../capability/call.ts'
import type { Outcome } from '../../capability/outcome.ts'

/** The general form of a step: refuses the call, or passes it (or a changed copy) to the next. */
export type Step = (call: Call, next: Next) => Promise<Outcome>

export type Next = (call: Call) => Promise<Outcome>
