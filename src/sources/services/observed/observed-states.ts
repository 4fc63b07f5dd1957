import type { View } from '../../../capability/capability.ts'
import { isSameSchema, isState, type ExposedState, toView, toText } from '../to-view.ts'
import type { Service, ServiceState } from '../service.ts'
import { ObservedMap, type ObservedContext } from './observed-map.ts'

/** The states of a service that are shown now. */
export class ObservedStates extends ObservedMap<ServiceState> {
  readonly #valueChanged: (view: View) => void
  readonly #shown = new Map<string, ExposedState>()
  #views: readonly View[] = []

  constructor(
    observe: Service['states'],
    valueChanged: (view: View) => void,
    place: ObservedContext,
  ) {
    super('states', observe, place)
    this.#valueChanged = valueChanged
  }

  get views(): readonly View[] {
    return this.#views
  }

  get exposed(): Iterable<ExposedState> {
    return this.#shown.values()
  }

  override release(): void {
    super.release()
    this.#shown.clear()
  }

  protected apply(said: Readonly<Record<string, ServiceState>>): boolean {
    let changed = false
    const replace = (key: string, next: ExposedState | undefined) => {
      const former = this.#shown.get(key)
      if (next) this.#shown.set(key, next)
      else this.#shown.delete(key)
      if (next && former && next.text !== former.text) this.#valueChanged(next.view)
      if (next?.view !== former?.view) changed = true
    }
    for (const key of this.#shown.keys()) if (!Object.hasOwn(said, key)) replace(key, undefined)
    for (const key of Object.keys(said))
      replace(
        key,
        this.tryRead(key, () => this.#read(key, said[key])),
      )
    if (changed) this.#views = [...this.#shown.values()].map(({ view }) => view)
    return changed
  }

  #read(key: string, state: ServiceState | undefined): ExposedState | undefined {
    if (!isState(state)) return this.reportUnusable(key, 'it has no value')
    const text = toText(state.value)
    if (text === undefined) return this.reportUnusable(key, 'its value has no JSON form')
    const former = this.#shown.get(key)
    if (former && isSameSchema(former.schema, state.schema)) {
      this.keepDiagnostics(former.diagnostics)
      return former.text === text ? former : { ...former, text }
    }
    const { path, source } = this.context
    const textNow = () => this.#shown.get(key)?.text
    const reading = toView({ path, key }, state.schema, source, textNow)
    if ('fault' in reading) return this.reportUnusable(key, reading.fault)
    this.keepDiagnostics(reading.diagnostics)
    return { ...reading, text }
  }
}
