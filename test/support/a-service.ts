import type { Observe, Service, ServiceAction, ServiceState } from '../../src/index.ts'

/** An observable value that a test sets, with the number of its observers. */
export class ObservableValue<T> {
  readonly #observers = new Set<(value: T) => void>()
  #value: T | undefined
  #hasValue: boolean

  constructor(...initial: [] | [T]) {
    this.#value = initial[0]
    this.#hasValue = initial.length > 0
  }

  readonly observe: Observe<T> = (notify) => {
    this.#observers.add(notify)
    if (this.#hasValue) notify(this.#value as T)
    return () => this.#observers.delete(notify)
  }

  get watchers(): number {
    return this.#observers.size
  }

  get value(): T {
    return this.#value as T
  }

  /** Notifies all observers. Their exceptions reach the caller, as in an application. */
  set(value: T): void {
    this.#value = value
    this.#hasValue = true
    for (const notify of [...this.#observers]) notify(value)
  }
}

export type Actions = Readonly<Record<string, ServiceAction>>
export type States = Readonly<Record<string, ServiceState>>
export type Links = Readonly<Record<string, Service>>

export const anAction = (parts: Partial<ServiceAction> = {}): ServiceAction => ({
  description: 'Does something.',
  schema: false,
  ...parts,
})

/** A service of the older shape whose parts can be changed while it is served. */
export function aService({
  actions = {},
  states = {},
  links,
  answer = async () => undefined,
}: {
  readonly actions?: Actions
  readonly states?: States
  readonly links?: Links
  readonly answer?: (action: string, input: unknown) => Promise<unknown>
} = {}) {
  const dials = {
    actions: new ObservableValue<Actions>(actions),
    states: new ObservableValue<States>(states),
    links: new ObservableValue<Links>(links ?? {}),
  }
  const executed: { readonly action: string; readonly input: unknown }[] = []
  const service: Service = {
    states: dials.states.observe,
    actions: dials.actions.observe,
    execute: async (action, input) => {
      executed.push({ action, input })
      return answer(action, input)
    },
    ...(links && { links: dials.links.observe }),
  }
  return { service, executed, ...dials }
}
