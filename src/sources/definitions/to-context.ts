import type { Call } from '../../capability/call.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { ToolContext } from './tool-definition.ts'

/** The pipeline takes this argument out of the raw input. */
const keyArgument = 'idempotency_key'

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

  get callId(): string {
    return this.#call.id
  }

  get rawInput(): unknown {
    const { input, rawInput } = this.#call
    // The input has the key only where it is an argument of the tool's own, which a parser of the tool needs.
    const isOwn = isPlainObject(input) && Object.hasOwn(input, keyArgument)
    if (!isOwn || !isPlainObject(rawInput) || Object.hasOwn(rawInput, keyArgument)) return rawInput
    return { ...rawInput, [keyArgument]: input[keyArgument] }
  }

  get approved(): boolean {
    // Set by the approval step when a human's decision lets the call pass, and not while policy only observes.
    return this.#call.plan.approvalId !== undefined
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
