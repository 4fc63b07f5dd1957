import type { View } from '../../../capability/capability.ts'
import { isSameSchema, isState, type KnownState, toKnownState, toText } from '../to-view.ts'
import type { Service, ServiceState } from '../service.ts'
import { ObservedMap, type ObservedPlace } from './observed-map.ts'

/** The states of a service that are shown now. */
export class ObservedStates extends ObservedMap<ServiceState> {
  readonly #valueChanged: (view: View) => void
  readonly #shown = new Map<string, KnownState>()
  #views: readonly View[] = []

  constructor(
    observe: Service['states'],
    valueChanged: (view: View) => void,
    place: ObservedPlace,
  ) {
    super('states', observe, place)
    this.#valueChanged = valueChanged
  }

  get views(): readonly View[] {
    return this.#views
  }

  get shown(): Iterable<KnownState> {
    return this.#shown.values()
  }

  override release(): void {
    super.release()
    this.#shown.clear()
  }

  protected take(said: Readonly<Record<string, ServiceState>>): boolean {
    let changed = false
    const replace = (key: string, next: KnownState | undefined) => {
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
        this.attempt(key, () => this.#read(key, said[key])),
      )
    if (changed) this.#views = [...this.#shown.values()].map(({ view }) => view)
    return changed
  }

  #read(key: string, state: ServiceState | undefined): KnownState | undefined {
    if (!isState(state)) return this.leaveOut(key, 'it has no value')
    const text = toText(state.value)
    if (text === undefined) return this.leaveOut(key, 'its value has no JSON form')
    const former = this.#shown.get(key)
    if (former && isSameSchema(former.schema, state.schema)) {
      this.repeat(former.diagnostics)
      return former.text === text ? former : { ...former, text }
    }
    const { path, source } = this.place
    const textNow = () => this.#shown.get(key)?.text
    const reading = toKnownState({ path, key }, state.schema, source, textNow)
    if ('fault' in reading) return this.leaveOut(key, reading.fault)
    this.repeat(reading.diagnostics)
    return { ...reading, text }
  }
}
