type Row = Readonly<Record<string, unknown>>

export interface InferredKey {
  readonly fields: readonly string[]
  /** It has no such name, and is taken for one by what the records have there. */
  readonly isGuess: boolean
}

/**
 * What tells records apart. Two with the same key are one, so where no field does, all of them
 * together do: rather a record twice than one of two.
 */
export function findPrimaryKey(
  names: readonly string[],
  rows: readonly Row[],
  times: readonly string[],
): InferredKey {
  const named = names.find((name) => /^(id|key|uuid|guid)$/i.test(name))
  if (named !== undefined) return { fields: [named], isGuess: false }
  // The next record may well have the same time, or the same amount.
  const unique = names.filter((name) => !times.includes(name) && isUnique(name, rows))
  const field = unique.find((name) => /(^|[\W_])(id|uuid|guid)$/i.test(name)) ?? unique[0]
  if (field !== undefined) return { fields: [field], isGuess: true }
  const everywhere = names.filter((name) =>
    rows.every((row) => ['string', 'number'].includes(typeof row[name])),
  )
  return { fields: everywhere.length > 0 ? everywhere : ['id'], isGuess: true }
}

const isUnique = (name: string, rows: readonly Row[]): boolean =>
  rows.every((row) => typeof row[name] === 'string' || Number.isInteger(row[name])) &&
  new Set(rows.map((row) => row[name])).size === rows.length
