/** Awaits work that cannot be aborted; rejects with the abort reason if the signal fires first. */
export function untilCancelled<T>(
  work: Promise<T>,
  { signal }: { readonly signal: AbortSignal },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
