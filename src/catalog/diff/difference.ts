/** One thing that is no longer as it was. */
export interface Difference {
  readonly noun: Noun
  /** Its name, or its address where it is a view. */
  readonly capability: string
  /** Into the capability as `list --json` prints it; through references, as a reader walks. */
  readonly pointer: string
  readonly kind: string
  readonly effect: Effect
  /** A call made as before may be refused or wait, or its answer may not be understood. */
  readonly breaking: boolean
  readonly message: string
}

export type Noun = 'capability' | 'view' | 'prompt'

/** Whether more is possible than before, or with less oversight; or less, or with more. */
export type Effect = 'widening' | 'narrowing' | 'neutral'

/** A difference inside a capability that is not named yet. */
export type Finding = Omit<Difference, 'noun' | 'capability'>

/** `neutral` where neither is more than the other. */
export const toEffect = (before: number, now: number): Effect =>
  now > before ? 'widening' : now < before ? 'narrowing' : 'neutral'

export const opposite: Readonly<Record<Effect, Effect>> = {
  widening: 'narrowing',
  narrowing: 'widening',
  neutral: 'neutral',
}

/** What only one side has, and which belong together: by id, then by their order. */
export function pair<T>(
  before: readonly T[],
  now: readonly T[],
  toId: (item: T) => string,
): { both: (readonly [T, T])[]; gone: T[]; added: T[] } {
  const left = [...now]
  const both: (readonly [T, T])[] = []
  const gone = before.filter((item) => {
    const at = left.findIndex((other) => toId(other) === toId(item))
    const [found] = at < 0 ? [] : left.splice(at, 1)
    if (found !== undefined) both.push([item, found])
    return found === undefined
  })
  if (gone.length !== left.length) return { both, gone, added: left }
  return {
    both: [...both, ...gone.map((item, at) => [item, left[at] as T] as const)],
    gone: [],
    added: [],
  }
}
