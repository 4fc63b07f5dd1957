/** Omits keys whose value is `undefined`, so that `exactOptionalPropertyTypes` accepts the rest. */
export function dropUndefined<T extends object>(record: T): Defined<T> {
  const defined: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(record)) if (value !== undefined) defined[key] = value
  return defined as Defined<T>
}

type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K]
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}
