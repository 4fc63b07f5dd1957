/** Something one side waits for and the other side brings about. */
export class Latch<T = void> {
  open: (value: T) => void = () => {}
  readonly opened = new Promise<T>((resolve) => {
    this.open = resolve
  })
}
