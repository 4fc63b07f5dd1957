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
  readonly isProbe: boolean
}

/** Health of the agent as one attempt showed it; `unknown` changes nothing. */
export type HealthVerdict = 'healthy' | 'unhealthy' | 'unknown'

/** A change that other routers are told: the agent was ejected, or it has recovered. */
export type HealthChange = 'unhealthy' | 'healthy'

interface AgentState {
  /** The agent has left, or its heartbeats have stopped. */
  isAbsent: boolean
  active: number
  /** The agent's concurrency limit is reached. */
  isFull: boolean
  failures: number
  ejections: number
  /** End of the ejection on the monotonic clock; 0 when the agent is not ejected. */
  ejectedUntil: number
  isProbing: boolean
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
    if (state.isAbsent || state.active >= concurrency) return undefined
    const isProbe = state.ejectedUntil > 0
    if (isProbe && (state.isProbing || this.#options.now() < state.ejectedUntil)) return undefined
    state.isProbing ||= isProbe
    state.active++
    state.isFull = state.active === concurrency
    if (state.isFull) this.#unhealthy.add(name)
    return { name, isProbe }
  }

  /** Releases the slot and applies the verdict. */
  leave({ name, isProbe }: Ticket, verdict: HealthVerdict): void {
    const state = this.#state(name)
    state.active--
    state.isFull = false
    if (verdict === 'unhealthy') this.#fail(name, state, isProbe)
    else if (verdict === 'healthy') this.#recover(name, state)
    if (isProbe) state.isProbing = false
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
    if (change === 'unhealthy' && state.ejectedUntil === 0) this.#eject(name, state)
    else if (change === 'healthy')
      state.ejectedUntil = Math.min(state.ejectedUntil, this.#options.now())
  }

  setPresence(name: string, isPresent: boolean): void {
    const state = this.#state(name)
    state.isAbsent = !isPresent
    if (isPresent && isHealthy(state)) this.#unhealthy.delete(name)
    else this.#unhealthy.add(name)
  }

  #fail(name: string, state: AgentState, isProbe: boolean): void {
    // Attempts that began before the ejection do not extend it.
    if (state.ejectedUntil > 0 && !isProbe) return
    state.failures++
    if (!isProbe && state.failures < this.#options.failures) return
    this.#eject(name, state)
    this.#notify(name, 'unhealthy')
  }

  #eject(name: string, state: AgentState): void {
    state.ejections++
    const { ejectionMs, maxEjectionMs, now } = this.#options
    state.ejectedUntil = now() + Math.min(maxEjectionMs, ejectionMs * state.ejections)
    state.failures = 0
    this.#unhealthy.add(name)
  }

  #recover(name: string, state: AgentState): void {
    const wasEjected = state.ejectedUntil > 0
    Object.assign(state, { failures: 0, ejections: 0, ejectedUntil: 0 })
    if (wasEjected) this.#notify(name, 'healthy')
  }

  #notify(name: string, change: HealthChange): void {
    for (const watcher of this.#watchers) watcher(name, change)
  }

  #condition(name: string): HealthCondition {
    const { isAbsent, ejectedUntil, isProbing } = this.#state(name)
    if (isAbsent) return 'absent'
    if (ejectedUntil === 0) return 'busy'
    if (this.#options.now() < ejectedUntil) return 'ejected'
    return isProbing ? 'probing' : 'probe'
  }

  #state(name: string): AgentState {
    let state = this.#states.get(name)
    if (!state) {
      state = {
        isAbsent: false,
        active: 0,
        isFull: false,
        failures: 0,
        ejections: 0,
        ejectedUntil: 0,
        isProbing: false,
      }
      this.#states.set(name, state)
    }
    return state
  }
}

const isHealthy = ({ isAbsent, isFull, ejectedUntil }: AgentState): boolean =>
  !isAbsent && !isFull && ejectedUntil === 0
