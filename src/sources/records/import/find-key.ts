type Row = Readonly<Record<string, unknown>>

export interface InferredKey {
  readonly fields: readonly string[]
  /** Inferred from the values, not from the field's name. */
  readonly isGuess: boolean
}

/**
 * Infers the primary key. Records with the same key overwrite each other, so when no field is unique
 * the key is made of all fields: a duplicate is better than a lost record.
 */
export function findPrimaryKey(
  names: readonly string[],
  rows: readonly Row[],
  times: readonly string[],
): InferredKey {
  const idField = names.find((name) => /^(id|key|uuid|guid)$/i.test(name))
  if (idField !== undefined) return { fields: [idField], isGuess: false }
  // Times and fractional numbers do not qualify: the next record may have the same value.
  const unique = names.filter((name) => !times.includes(name) && isUnique(name, rows))
  const field = unique.find((name) => /(^|[\W_])(id|uuid|guid)$/i.test(name)) ?? unique[0]
  if (field !== undefined) return { fields: [field], isGuess: true }
  const alwaysPresent = names.filter((name) =>
    rows.every((row) => ['string', 'number'].includes(typeof row[name])),
  )
  return { fields: alwaysPresent.length > 0 ? alwaysPresent : ['id'], isGuess: true }
}

const isUnique = (name: string, rows: readonly Row[]): boolean =>
  rows.every((row) => typeof row[name] === 'string' || Number.isInteger(row[name])) &&
  new Set(rows.map((row) => row[name])).size === rows.length
