import { isPlainObject } from '../json/is-plain-object.ts'

export interface NamedDifference {
  /** JSON pointer. */
  readonly pointer: string
  readonly former: unknown
  readonly present: unknown
}

/** The deepest places where two JSON values differ. */
export function toDifferences(former: unknown, present: unknown, pointer = ''): NamedDifference[] {
  if (isPlainObject(former) && isPlainObject(present)) {
    const keys = [...new Set([...Object.keys(former), ...Object.keys(present)])].sort()
    return keys.flatMap((key) => toDifferences(former[key], present[key], `${pointer}/${key}`))
  }
  if (Array.isArray(former) && Array.isArray(present) && former.length === present.length)
    return former.flatMap((item, index) =>
      toDifferences(item, present[index], `${pointer}/${index}`),
    )
  return JSON.stringify(former) === JSON.stringify(present) ? [] : [{ pointer, former, present }]
}
