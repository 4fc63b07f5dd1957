/** Why an agent is not asked now; `probe`: it is, to find out whether it is well again. */
export type HealthCondition = 'absent' | 'ejected' | 'probing' | 'busy' | 'probe'

/** Only those about whom there is something to say. */
export type HealthSnapshot = Readonly<Record<string, HealthCondition>>

export interface HealthOptions {
  /** So many failures in a row, and an agent is left alone for a while. */
  readonly failures: number
  /** Milliseconds of the first time; each further time in a row is longer by as much. */
  readonly ejection: number
  readonly longest: number
  /** Milliseconds, steady. */
  readonly now: () => number
}

/** A place at an agent. */
export interface Ticket {
  readonly name: string
  /** Whether it is the one that finds out if the agent is well again. */
  readonly probes: boolean
}

/** What was found out about an agent: that it is left alone from now on, or that it is well again. */
export type Turn = 'ill' | 'well'

interface State {
  /** It has left, or has not been heard of for too long. */
  absent: boolean
  active: number
  /** It takes no more at a time. */
  full: boolean
  failures: number
  ejections: number
  /** Until when it is left alone. */
  until: number
  probing: boolean
}

const allWell: HealthSnapshot = Object.freeze({})

/**
 * What is known of the agents from the calls they were given. It takes candidates away and never
 * changes the order of the others.
 */
export class Health {
  readonly #options: HealthOptions
  readonly #states = new Map<string, State>()
  /** Those that are not plainly well: mostly none. */
  readonly #noted = new Set<string>()
  readonly #watchers = new Set<(name: string, turn: Turn) => void>()

  constructor(options: HealthOptions) {
    this.#options = options
  }

  look(): HealthSnapshot {
    if (this.#noted.size === 0) return allWell
    const snapshot: Record<string, HealthCondition> = {}
    for (const name of [...this.#noted].sort()) snapshot[name] = this.#condition(name)
    return Object.freeze(snapshot)
  }

  /** Takes one of the agent's places, if it may be asked now. */
  enter(name: string, concurrency: number): Ticket | undefined {
    const state = this.#state(name)
    if (state.absent || state.active >= concurrency) return undefined
    const probes = state.until > 0
    if (probes && (state.probing || this.#options.now() < state.until)) return undefined
    state.probing ||= probes
    state.active++
    state.full = state.active === concurrency
    if (state.full) this.#noted.add(name)
    return { name, probes }
  }

  /** Gives it back, with what was learned. */
  leave({ name, probes }: Ticket, verdict: 'well' | 'ill' | 'unclear'): void {
    const state = this.#state(name)
    state.active--
    state.full = false
    if (verdict === 'ill') this.#fail(name, state, probes)
    else if (verdict === 'well') this.#recover(name, state)
    if (probes) state.probing = false
    if (isPlain(state)) this.#noted.delete(name)
  }

  /** Hears what this one finds out, not what it hears itself. */
  watch(watcher: (name: string, turn: Turn) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Somebody else has found out. Whether it is well again is tried here all the same. */
  hear(name: string, turn: Turn): void {
    const state = this.#state(name)
    if (turn === 'ill' && state.until === 0) this.#eject(name, state)
    else if (turn === 'well') state.until = Math.min(state.until, this.#options.now())
  }

  notePresence(name: string, present: boolean): void {
    const state = this.#state(name)
    state.absent = !present
    if (present && isPlain(state)) this.#noted.delete(name)
    else this.#noted.add(name)
  }

  #fail(name: string, state: State, probes: boolean): void {
    // It was asked before it was ejected: that it failed is no news.
    if (state.until > 0 && !probes) return
    state.failures++
    if (!probes && state.failures < this.#options.failures) return
    this.#eject(name, state)
    this.#tell(name, 'ill')
  }

  #eject(name: string, state: State): void {
    state.ejections++
    const { ejection, longest, now } = this.#options
    state.until = now() + Math.min(longest, ejection * state.ejections)
    state.failures = 0
    this.#noted.add(name)
  }

  #recover(name: string, state: State): void {
    const wasEjected = state.until > 0
    Object.assign(state, { failures: 0, ejections: 0, until: 0 })
    if (wasEjected) this.#tell(name, 'well')
  }

  #tell(name: string, turn: Turn): void {
    for (const watcher of this.#watchers) watcher(name, turn)
  }

  #condition(name: string): HealthCondition {
    const { absent, until, probing } = this.#state(name)
    if (absent) return 'absent'
    if (until === 0) return 'busy'
    if (this.#options.now() < until) return 'ejected'
    return probing ? 'probing' : 'probe'
  }

  #state(name: string): State {
    let state = this.#states.get(name)
    if (!state) {
      state = {
        absent: false,
        active: 0,
        full: false,
        failures: 0,
        ejections: 0,
        until: 0,
        probing: false,
      }
      this.#states.set(name, state)
    }
    return state
  }
}

const isPlain = ({ absent, full, until }: State): boolean => !absent && !full && until === 0
