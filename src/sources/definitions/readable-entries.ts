/** The entries of an object that can be read, and the keys whose getters throw. */
export interface ReadableEntries {
  readonly entries: readonly (readonly [string, unknown])[]
  readonly unreadable: readonly (readonly [key: string, error: unknown])[]
}

/** As `Object.entries`, but a getter that throws costs only its own entry. */
export function readEntries(value: object): ReadableEntries {
  const entries: (readonly [string, unknown])[] = []
  const unreadable: (readonly [string, unknown])[] = []
  for (const key of Object.keys(value))
    try {
      entries.push([key, Reflect.get(value, key)])
    } catch (error) {
      unreadable.push([key, error])
    }
  return { entries, unreadable }
}
