export interface ListDifference<T> {
  readonly removed: readonly T[]
  readonly added: readonly T[]
}

/**
 * The elements that only one of two lists has, by identity. Nearly equal lists are walked in
 * parallel, which is many times faster than building sets; sets handle the rest.
 */
export function toListDifference<T>(
  former: readonly T[],
  present: readonly T[],
): ListDifference<T> {
  const removed: T[] = []
  const added: T[] = []
  let [i, j] = [0, 0]
  while (i < former.length && j < present.length) {
    if (former[i] === present[j]) {
      i++
      j++
    } else if (former[i + 1] === present[j]) removed.push(former[i++] as T)
    else if (former[i] === present[j + 1]) added.push(present[j++] as T)
    else if (former[i + 1] === present[j + 1]) {
      removed.push(former[i++] as T)
      added.push(present[j++] as T)
    } else break
  }
  const [formerRest, presentRest] = [former.slice(i), present.slice(j)]
  if (formerRest.length === 0 || presentRest.length === 0)
    return { removed: [...removed, ...formerRest], added: [...added, ...presentRest] }
  const [formerSet, presentSet] = [new Set(formerRest), new Set(presentRest)]
  return {
    removed: [...removed, ...formerRest.filter((item) => !presentSet.has(item))],
    added: [...added, ...presentRest.filter((item) => !formerSet.has(item))],
  }
}
