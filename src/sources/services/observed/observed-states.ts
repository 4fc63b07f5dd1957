import type { View } from '../../../capability/capability.ts'
import { isFault } from '../../../capability/fault.ts'
import type { Service, ServiceState } from '../service.ts'
import { type ExposedState, isSameSchema, isState, toText, toView } from '../to-view.ts'
import { type ObservedContext, ObservedMap } from './observed-map.ts'

/** The current states of a service. */
export class ObservedStates extends ObservedMap<ServiceState> {
  readonly #onValueChange: (view: View) => void
  readonly #exposedStates = new Map<string, ExposedState>()
  #views: readonly View[] = []

  constructor(
    observe: Service['states'],
    onValueChange: (view: View) => void,
    context: ObservedContext,
  ) {
    super('states', observe, context)
    this.#onValueChange = onValueChange
  }

  get views(): readonly View[] {
    return this.#views
  }

  get exposedStates(): Iterable<ExposedState> {
    return this.#exposedStates.values()
  }

  override release(): void {
    super.release()
    this.#exposedStates.clear()
  }

  protected apply(states: Readonly<Record<string, ServiceState>>): boolean {
    let changed = false
    const replace = (key: string, next: ExposedState | undefined) => {
      const previous = this.#exposedStates.get(key)
      if (next) this.#exposedStates.set(key, next)
      else this.#exposedStates.delete(key)
      if (next && previous && next.text !== previous.text) this.#onValueChange(next.view)
      if (next?.view !== previous?.view) changed = true
    }
    for (const key of this.#exposedStates.keys())
      if (!Object.hasOwn(states, key)) replace(key, undefined)
    for (const key of Object.keys(states))
      replace(
        key,
        this.tryRead(key, () => this.#read(key, states[key])),
      )
    if (changed) this.#views = [...this.#exposedStates.values()].map(({ view }) => view)
    return changed
  }

  #read(key: string, state: ServiceState | undefined): ExposedState | undefined {
    if (!isState(state)) return this.reportUnusable(key, 'it has no value')
    const text = toText(state.value)
    if (text === undefined) return this.reportUnusable(key, 'its value has no JSON form')
    const previous = this.#exposedStates.get(key)
    if (previous && isSameSchema(previous.schema, state.schema)) {
      this.keepDiagnostics(previous.diagnostics)
      return previous.text === text ? previous : { ...previous, text }
    }
    const { path, source } = this.context
    const currentText = () => this.#exposedStates.get(key)?.text
    const reading = toView({ path, key }, state.schema, source, currentText)
    if (isFault(reading)) return this.reportUnusable(key, reading.fault)
    this.keepDiagnostics(reading.diagnostics)
    return { ...reading, text }
  }
}
