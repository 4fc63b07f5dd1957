/** Bodies up to this size are read without a reservation. */
const smallBodyBytes = 64 * 1024
export const isSmallBody = (bytes: number): boolean => bytes <= smallBodyBytes

/** The memory that all larger bodies may take together. */
const maxTotalBytes = 64 * 1024 * 1024

/**
 * A weighted semaphore over the memory of large bodies. Without it, a thousand clients that each
 * stay below the body limit exhaust the memory of the process.
 */
export class BodyMemory {
  readonly #waiting: (() => void)[] = []
  #reservedBytes = 0

  /** Waits for room and returns a function that releases it; further calls of it do nothing. */
  async reserve(bytes: number): Promise<() => void> {
    while (this.#reservedBytes > 0 && this.#reservedBytes + bytes > maxTotalBytes)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#reservedBytes += bytes
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#reservedBytes -= bytes
      // Wakes every waiter: the first one may still be too large for the room.
      for (const wake of this.#waiting.splice(0)) wake()
    }
  }
}
