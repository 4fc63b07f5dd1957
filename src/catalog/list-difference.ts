export interface ListDifference<T> {
  readonly gone: readonly T[]
  readonly come: readonly T[]
}

/**
 * What one list has and the other has not. Lists that are nearly the same are walked along each
 * other, which is many times faster than looking everything up.
 */
export function toListDifference<T>(
  former: readonly T[],
  present: readonly T[],
): ListDifference<T> {
  const gone: T[] = []
  const come: T[] = []
  let [i, j] = [0, 0]
  while (i < former.length && j < present.length) {
    if (former[i] === present[j]) {
      i++
      j++
    } else if (former[i + 1] === present[j]) gone.push(former[i++] as T)
    else if (former[i] === present[j + 1]) come.push(present[j++] as T)
    else if (former[i + 1] === present[j + 1]) {
      gone.push(former[i++] as T)
      come.push(present[j++] as T)
    } else break
  }
  const [left, right] = [former.slice(i), present.slice(j)]
  if (left.length === 0 || right.length === 0)
    return { gone: [...gone, ...left], come: [...come, ...right] }
  const [before, now] = [new Set(left), new Set(right)]
  return {
    gone: [...gone, ...left.filter((one) => !now.has(one))],
    come: [...come, ...right.filter((one) => !before.has(one))],
  }
}
