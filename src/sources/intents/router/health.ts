/** Why an agent is skipped now; a `probe` is asked, to find out whether it has recovered. */
export type HealthCondition = 'absent' | 'ejected' | 'probing' | 'busy' | 'probe'

/** Conditions by agent name; healthy agents are not listed. */
export type HealthSnapshot = Readonly<Record<string, HealthCondition>>

export interface HealthOptions {
  /** Consecutive failures after which an agent is ejected. */
  readonly failures: number
  /** Milliseconds of the first ejection; each consecutive one is longer by as much. */
  readonly ejectionMs: number
  /** Upper bound for an ejection, in milliseconds. */
  readonly maxEjectionMs: number
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number
}

/** A reserved slot at an agent. */
export interface Ticket {
  readonly name: string
  /** This attempt probes an ejected agent. */
  readonly probes: boolean
}

/** Health of the agent as one attempt showed it; `unknown` changes nothing. */
export type HealthVerdict = 'healthy' | 'unhealthy' | 'unknown'

/** A change that other routers are told: the agent was ejected, or it has recovered. */
export type HealthChange = 'unhealthy' | 'healthy'

interface AgentState {
  /** The agent has left, or its heartbeats have stopped. */
  absent: boolean
  active: number
  /** The agent's concurrency limit is reached. */
  full: boolean
  failures: number
  ejections: number
  /** End of the ejection on the monotonic clock; 0 when the agent is not ejected. */
  until: number
  probing: boolean
}

const allHealthy: HealthSnapshot = Object.freeze({})

/**
 * Circuit breaker and concurrency limit per agent. Removes candidates from a decision and never
 * changes the order of the others.
 */
export class Health {
  readonly #options: HealthOptions
  readonly #states = new Map<string, AgentState>()
  /** Agents that belong in the snapshot: usually none. */
  readonly #unhealthy = new Set<string>()
  readonly #watchers = new Set<(name: string, change: HealthChange) => void>()

  constructor(options: HealthOptions) {
    this.#options = options
  }

  snapshot(): HealthSnapshot {
    if (this.#unhealthy.size === 0) return allHealthy
    const snapshot: Record<string, HealthCondition> = {}
    for (const name of [...this.#unhealthy].sort()) snapshot[name] = this.#condition(name)
    return Object.freeze(snapshot)
  }

  /** Reserves a slot; `undefined` when the agent must not be asked now. */
  enter(name: string, concurrency: number): Ticket | undefined {
    const state = this.#state(name)
    if (state.absent || state.active >= concurrency) return undefined
    const probes = state.until > 0
    if (probes && (state.probing || this.#options.now() < state.until)) return undefined
    state.probing ||= probes
    state.active++
    state.full = state.active === concurrency
    if (state.full) this.#unhealthy.add(name)
    return { name, probes }
  }

  /** Releases the slot and applies the verdict. */
  leave({ name, probes }: Ticket, verdict: HealthVerdict): void {
    const state = this.#state(name)
    state.active--
    state.full = false
    if (verdict === 'unhealthy') this.#fail(name, state, probes)
    else if (verdict === 'healthy') this.#recover(name, state)
    if (probes) state.probing = false
    if (isHealthy(state)) this.#unhealthy.delete(name)
  }

  /** Observes changes that were found here, not those passed to `applyRemote`. */
  watch(watcher: (name: string, change: HealthChange) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Applies a change found by another router. A recovery only allows an early probe here. */
  applyRemote(name: string, change: HealthChange): void {
    const state = this.#state(name)
    if (change === 'unhealthy' && state.until === 0) this.#eject(name, state)
    else if (change === 'healthy') state.until = Math.min(state.until, this.#options.now())
  }

  setPresence(name: string, present: boolean): void {
    const state = this.#state(name)
    state.absent = !present
    if (present && isHealthy(state)) this.#unhealthy.delete(name)
    else this.#unhealthy.add(name)
  }

  #fail(name: string, state: AgentState, probes: boolean): void {
    // Attempts that began before the ejection do not extend it.
    if (state.until > 0 && !probes) return
    state.failures++
    if (!probes && state.failures < this.#options.failures) return
    this.#eject(name, state)
    this.#notify(name, 'unhealthy')
  }

  #eject(name: string, state: AgentState): void {
    state.ejections++
    const { ejectionMs, maxEjectionMs, now } = this.#options
    state.until = now() + Math.min(maxEjectionMs, ejectionMs * state.ejections)
    state.failures = 0
    this.#unhealthy.add(name)
  }

  #recover(name: string, state: AgentState): void {
    const wasEjected = state.until > 0
    Object.assign(state, { failures: 0, ejections: 0, until: 0 })
    if (wasEjected) this.#notify(name, 'healthy')
  }

  #notify(name: string, change: HealthChange): void {
    for (const watcher of this.#watchers) watcher(name, change)
  }

  #condition(name: string): HealthCondition {
    const { absent, until, probing } = this.#state(name)
    if (absent) return 'absent'
    if (until === 0) return 'busy'
    if (this.#options.now() < until) return 'ejected'
    return probing ? 'probing' : 'probe'
  }

  #state(name: string): AgentState {
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

const isHealthy = ({ absent, full, until }: AgentState): boolean => !absent && !full && until === 0
