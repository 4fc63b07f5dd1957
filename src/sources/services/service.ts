/**
 * The shape of a live service, as `AgenticService` of `@adobe/data` has it in every version that was
 * published. Nothing is imported from there: four members are all that is needed of it.
 */
export interface Service {
  readonly serviceName?: string
  readonly states?: Observe<Readonly<Record<string, ServiceState>>>
  readonly actions?: Observe<Readonly<Record<string, ServiceAction>>>
  readonly execute?: (action: string, input: unknown) => Promise<unknown>
  readonly links?: Observe<Readonly<Record<string, Service>>>
}

/** Calls back now, if there is a value, and with every later one. Returns how to stop. */
export type Observe<T> = (notify: (value: T) => void) => () => void

export interface ServiceState {
  readonly schema?: unknown
  readonly value: unknown
}

/** `schema` describes the one input, `parameters` the positional ones; an action has either. */
export interface ServiceAction {
  readonly description?: string
  readonly schema?: unknown
  readonly parameters?: readonly unknown[]
  readonly execute?: (...input: never[]) => unknown
}

export const isService = (value: unknown): value is Service =>
  typeof value === 'object' &&
  value !== null &&
  observables.some((key) => typeof (value as Record<string, unknown>)[key] === 'function')

/** One of the observables of a service, as a function that knows whose it is. */
export function observableOf<Name extends (typeof observables)[number]>(
  service: Service,
  name: Name,
): Service[Name] | undefined {
  const observe = service[name]
  return typeof observe === 'function' ? (observe.bind(service) as Service[Name]) : undefined
}

const observables = ['actions', 'states', 'links'] as const
