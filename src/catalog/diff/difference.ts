/** One difference between two versions of a capability, view or prompt, or of a source as a whole. */
export interface Difference {
  readonly noun: Noun
  /** The name; the URI of a view; the id of a source. */
  readonly capability: string
  /**
   * JSON pointer into the capability as `list --json` prints it, with $refs followed; or into the source.
   * Of the new state, or of the old one for a removal.
   */
  readonly pointer: string
  readonly kind: string
  readonly effect: Effect
  /** An unchanged client may be refused or delayed, or may not understand the result. */
  readonly breaking: boolean
  /** The effect cannot be decided here: a person has to. The message says so. */
  readonly review?: true
  readonly message: string
  /** `file:line:column`, or the file alone, when known. */
  readonly at?: string
}

export type Noun = 'capability' | 'view' | 'prompt' | 'source'

/** `widening`: more is possible, or with less oversight. `narrowing`: the opposite. */
export type Effect = 'widening' | 'narrowing' | 'neutral'

/** A difference before it is attributed to a capability. */
export type Finding = Omit<Difference, 'noun' | 'capability' | 'at'>

/** The end of the message of a finding that a person has to decide. */
export const reviewAdvice = 'Review it: whether more is possible now cannot be decided here.'

export const toEffect = (before: number, after: number): Effect =>
  after > before ? 'widening' : after < before ? 'narrowing' : 'neutral'

export const opposite: Readonly<Record<Effect, Effect>> = {
  widening: 'narrowing',
  narrowing: 'widening',
  neutral: 'neutral',
}

/** Pairs items by id; if equally many remain unmatched on both sides, pairs those by position. */
export function pairById<T>(
  before: readonly T[],
  after: readonly T[],
  toId: (item: T) => string,
): { both: (readonly [T, T])[]; removed: T[]; added: T[] } {
  const unmatched = [...after]
  const both: (readonly [T, T])[] = []
  const removed = before.filter((item) => {
    const index = unmatched.findIndex((other) => toId(other) === toId(item))
    const [match] = index < 0 ? [] : unmatched.splice(index, 1)
    if (match !== undefined) both.push([item, match])
    return match === undefined
  })
  if (removed.length !== unmatched.length) return { both, removed, added: unmatched }
  return {
    both: [...both, ...removed.map((item, index) => [item, unmatched[index] as T] as const)],
    removed: [],
    added: [],
  }
}
