import { toBoolean, toNumber } from './parse-cell.ts'

type Row = Readonly<Record<string, unknown>>

/** Cells are text. A column of which each one is a number, or each one true or false, is no text. */
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
  const present = cells.filter((cell) => cell !== undefined).map(String)
  return [toBoolean, toExactNumber].find((type) =>
    present.every((cell) => type(cell) !== undefined),
  )
}

/** The digits of an account are no number: not all of them would be kept. */
function toExactNumber(cell: string): number | undefined {
  const number = toNumber(cell)
  return number !== undefined && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : undefined
}
