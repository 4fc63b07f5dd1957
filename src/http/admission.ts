/** Bodies below this are too small to matter together. */
const small = 64 * 1024
export const isSmall = (size: number): boolean => size <= small

/** How much of larger ones is held at a time. */
const room = 64 * 1024 * 1024

/**
 * Bounds the memory that large bodies take together: whoever finds no room waits until somebody
 * else is done. Without it a thousand clients that each keep to the limit end the server.
 */
export class Admission {
  readonly #waiting: (() => void)[] = []
  #taken = 0

  /** Returns how to make room again, once. */
  async enter(size: number): Promise<() => void> {
    while (this.#taken > 0 && this.#taken + size > room)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#taken += size
    let left = false
    return () => {
      if (left) return
      left = true
      this.#taken -= size
      // Everybody looks again: the first may be too large for the room there is.
      for (const look of this.#waiting.splice(0)) look()
    }
  }
}
