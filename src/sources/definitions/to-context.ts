import type { Call } from '../../capability/call.ts'
import type { ToolContext } from './tool-definition.ts'

export const toContext = (call: Call): ToolContext => new CallContext(call)

/** Members are lazy getters: most tools use none of them, and creating a signal costs time. */
class CallContext implements ToolContext {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  get signal(): AbortSignal {
    return this.#call.cancellation.signal
  }

  get caller(): ToolContext['caller'] {
    return this.#call.caller
  }

  get answers(): ToolContext['answers'] {
    return this.#call.answers
  }

  get state(): ToolContext['state'] {
    return this.#call.state
  }

  get canAsk(): ToolContext['canAsk'] {
    return (kind) => this.#call.canAsk.has(kind)
  }

  get progress(): ToolContext['progress'] {
    return (done, total, message) =>
      this.#call.listener.progress({
        done,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      })
  }

  get log(): ToolContext['log'] {
    return (level, data, logger) =>
      this.#call.listener.log({ level, data, ...(logger !== undefined && { logger }) })
  }
}
