const queue: (() => void)[] = []

/**
 * Resumes one waiting read per event loop iteration, however many wait, so that I/O and timers run
 * between any two of them.
 */
export const yieldToLoop = (): Promise<void> =>
  new Promise((resolve) => {
    queue.push(resolve)
    if (queue.length === 1) setImmediate(resumeNext)
  })

function resumeNext(): void {
  queue.shift()?.()
  if (queue.length > 0) setImmediate(resumeNext)
}
