/** Waits for what cannot be stopped, but not longer than the call lasts: then it throws. */
export function untilCancelled<T>(
  work: Promise<T>,
  { signal }: { readonly signal: AbortSignal },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
