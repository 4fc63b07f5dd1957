import type { Call } from '../../capability/call.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'

/** A step that sees calls come and go, and never waits: adjacent ones share one promise. */
export interface Interceptor {
  /** Returns the call that goes on, or refuses it; a call refused here does not leave this step. */
  enter?(call: Call): Call | Failed
  /** Receives the call as it entered the first of the adjacent interceptors. Something thrown arrives as a failure. */
  leave(call: Call, outcome: Outcome): Outcome
}
