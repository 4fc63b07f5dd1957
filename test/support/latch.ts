/** A promise that is resolved from outside. */
export class Latch<T = void> {
  open: (value: T) => void = () => {}
  readonly opened = new Promise<T>((resolve) => {
    this.open = resolve
  })
}
