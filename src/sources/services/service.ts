/**
 * A live service whose actions and states change over time. Structurally compatible with
 * `AgenticService` of every published version of `@adobe/data`, without importing it.
 */
export interface Service {
  /** The default id of the source. */
  readonly serviceName?: string
  /** Emits all current states, by name. */
  readonly states?: Observe<Readonly<Record<string, ServiceState>>>
  /** Emits all actions that are available now, by name. */
  readonly actions?: Observe<Readonly<Record<string, ServiceAction>>>
  /** Runs an action by name, for actions without an `execute` of their own. */
  readonly execute?: (action: string, input: unknown) => Promise<unknown>
  /** Emits the services this one is linked to now, by name. */
  readonly links?: Observe<Readonly<Record<string, Service>>>
}

/**
 * An observable as a function: calls `notify` with the current value, if there is one, and with
 * every later value. Returns a function that unsubscribes.
 */
export type Observe<T> = (notify: (value: T) => void) => () => void

/** One state of a service. */
export interface ServiceState {
  /** JSON Schema of the value; `title` and `description` are shown to clients. */
  readonly schema?: unknown
  /** The current value; must have a JSON form. */
  readonly value: unknown
}

/** One action of a service. Has `schema` or `parameters`, not both. */
export interface ServiceAction {
  /** Tells the model what the action does. */
  readonly description?: string
  /** JSON Schema of the single argument; `false` or absent for none. */
  readonly schema?: unknown
  /** JSON Schemas of positional arguments. */
  readonly parameters?: readonly unknown[]
  /** Runs the action. Without it, `execute` of the service is called. */
  readonly execute?: (...input: never[]) => unknown
}

export const isService = (value: unknown): value is Service =>
  typeof value === 'object' &&
  value !== null &&
  observableNames.some((key) => typeof (value as Record<string, unknown>)[key] === 'function')

/** Returns an observable of the service, bound to it. */
export function observableOf<Name extends (typeof observableNames)[number]>(
  service: Service,
  name: Name,
): Service[Name] | undefined {
  const observe = service[name]
  return typeof observe === 'function' ? (observe.bind(service) as Service[Name]) : undefined
}

const observableNames = ['actions', 'states', 'links'] as const
