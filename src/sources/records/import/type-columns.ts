import { toBoolean, toNumber } from './to-cell.ts'

type Row = Readonly<Record<string, unknown>>

/** Converts columns whose cells are all numbers or all booleans; CSV cells are text. */
export function typeColumns(rows: readonly Row[]): readonly Row[] {
  const names = new Set(rows.flatMap((row) => Object.keys(row)))
  const types = new Map([...names].map((name) => [name, findType(rows.map((row) => row[name]))]))
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, cell]) => [name, types.get(name)?.(String(cell)) ?? cell]),
    ),
  )
}

function findType(cells: readonly unknown[]): typeof toBoolean | typeof toNumber | undefined {
  const texts = cells.filter((cell) => cell !== undefined).map(String)
  return [toBoolean, toExactNumber].find((parse) =>
    texts.every((cell) => parse(cell) !== undefined),
  )
}

/** Long digit strings, such as account numbers, stay text: a number would lose digits. */
function toExactNumber(cell: string): number | undefined {
  const number = toNumber(cell)
  return number !== undefined && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : undefined
}
