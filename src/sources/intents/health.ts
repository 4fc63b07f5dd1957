/** Why an agent is not asked now; `probe`: it is, to find out whether it is well again. */
export type Condition = 'ejected' | 'probing' | 'busy' | 'probe'

/** Only those about whom there is something to say. */
export type HealthSnapshot = Readonly<Record<string, Condition>>

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

interface State {
  active: number
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

  constructor(options: HealthOptions) {
    this.#options = options
  }

  look(): HealthSnapshot {
    if (this.#noted.size === 0) return allWell
    const snapshot: Record<string, Condition> = {}
    for (const name of [...this.#noted].sort()) snapshot[name] = this.#condition(name)
    return Object.freeze(snapshot)
  }

  /** Takes one of the agent's places, if it may be asked now. */
  enter(name: string, concurrency: number): Ticket | undefined {
    const state = this.#state(name)
    if (state.active >= concurrency) return undefined
    const probes = state.until > 0
    if (probes && (state.probing || this.#options.now() < state.until)) return undefined
    state.probing ||= probes
    state.active++
    if (state.active === concurrency) this.#noted.add(name)
    return { name, probes }
  }

  /** Gives it back, with what was learned. */
  leave({ name, probes }: Ticket, verdict: 'well' | 'ill' | 'unclear'): void {
    const state = this.#state(name)
    state.active--
    if (verdict === 'ill') this.#fail(name, state, probes)
    else if (verdict === 'well') Object.assign(state, { failures: 0, ejections: 0, until: 0 })
    if (probes) state.probing = false
    if (state.until === 0) this.#noted.delete(name)
  }

  /** Milliseconds until one that is ejected may be asked again. */
  wait(name: string): number {
    return Math.max(0, this.#state(name).until - this.#options.now())
  }

  #fail(name: string, state: State, probes: boolean): void {
    // It was asked before it was ejected: that it failed is no news.
    if (state.until > 0 && !probes) return
    state.failures++
    if (!probes && state.failures < this.#options.failures) return
    state.ejections++
    const { ejection, longest, now } = this.#options
    state.until = now() + Math.min(longest, ejection * state.ejections)
    state.failures = 0
    this.#noted.add(name)
  }

  #condition(name: string): Condition {
    const { until, probing } = this.#state(name)
    if (until === 0) return 'busy'
    if (this.#options.now() < until) return 'ejected'
    return probing ? 'probing' : 'probe'
  }

  #state(name: string): State {
    let state = this.#states.get(name)
    if (!state) {
      state = { active: 0, failures: 0, ejections: 0, until: 0, probing: false }
      this.#states.set(name, state)
    }
    return state
  }
}
