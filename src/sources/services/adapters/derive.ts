import type { Observe } from '../service.ts'

/** An observable of what is made of another's values. */
export const derive =
  <From, To>(observe: Observe<From>, to: (value: From) => To): Observe<To> =>
  (notify) =>
    observe((value) => notify(to(value)))
