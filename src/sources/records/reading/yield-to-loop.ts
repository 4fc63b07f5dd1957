const waiting: (() => void)[] = []

/**
 * One of all who wait goes on each time the event loop comes round, whatever their number: between
 * any two of them everybody else in the process is heard.
 */
export const yieldToLoop = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(callNext)
  })

function callNext(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(callNext)
}
