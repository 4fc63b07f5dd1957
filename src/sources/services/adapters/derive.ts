import type { Observe } from '../service.ts'

/**
 * Maps every value of an observable, like `map` of RxJS.
 *
 * @example
 * ```ts
 * import { derive, fromStore } from 'drawbridge-mcp'
 * import { createStore } from 'zustand/vanilla'
 *
 * const store = createStore(() => ({ temperature: 21 }))
 * const states = derive(fromStore(store), ({ temperature }) => ({
 *   temperature: { schema: { type: 'number' }, value: temperature },
 * }))
 * ```
 */
export const derive =
  <From, To>(observe: Observe<From>, map: (value: From) => To): Observe<To> =>
  (notify) =>
    observe((value) => notify(map(value)))
