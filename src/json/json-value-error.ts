import { toPointer } from './to-pointer.ts'

/** Thrown when a value cannot be sent as JSON. The message names the place in the value. */
export class JsonValueError extends Error {
  override readonly name = 'JsonValueError'
  readonly reason: 'too_large' | 'not_json'
  readonly #problem: string
  readonly #tooDeep: object | undefined
  #path: PropertyKey[] = []
  #isCircular = false

  /** `tooDeep`: the object at which the conversion stopped because of its depth. */
  constructor(problem: string, reason: JsonValueError['reason'] = 'not_json', tooDeep?: object) {
    super(problem)
    this.reason = reason
    this.#problem = problem
    this.#tooDeep = tooDeep
  }

  /** Called while the conversion unwinds, innermost object first. */
  addParent(key: PropertyKey, parent: object): void {
    this.#path.push(key)
    if (parent !== this.#tooDeep) return
    // A circular reference: keeps one turn of the circle.
    this.#turn ??= this.#path
    this.#path = [...this.#turn]
    this.#isCircular = true
  }

  #turn: PropertyKey[] | undefined

  /** What is wrong, and where. */
  describe(): string {
    if (this.reason === 'too_large') return this.#problem
    const path = this.#path.toReversed()
    const shownPath =
      toPointer(path.slice(0, maxSegments)) + (path.length > maxSegments ? '/…' : '')
    const problem = this.#isCircular ? 'refers back to an object that contains it' : this.#problem
    return `${shownPath || 'the value'}: ${problem}`
  }
}

const maxSegments = 20

/** Adds the place to an error on its way up; errors of getters and `toJSON` methods get one too. */
export function addPathSegment(error: unknown, key: PropertyKey, parent: object): JsonValueError {
  const valueError = error instanceof JsonValueError ? error : toReadError(error)
  valueError.addParent(key, parent)
  return valueError
}

/** A getter, a `toJSON` method or a proxy threw anything. */
export function toReadError(thrown: unknown): JsonValueError {
  if (thrown instanceof JsonValueError) return thrown
  return new JsonValueError(`reading it failed: ${describeThrown(thrown)}`)
}

function describeThrown(thrown: unknown): string {
  try {
    return String(thrown).slice(0, maxThrownLength)
  } catch {
    return 'a value that cannot be shown was thrown'
  }
}

const maxThrownLength = 500
