import { type ListSize, parts } from '../runtime/tool-sizes.ts'
import { count, print, printJson } from './terminal/print.ts'

/** Prints the sizes of tool lists as tables, with a line of totals for each mount. */
export function printSizes(sizes: readonly ListSize[]): void {
  for (const { mount, bytes, tokens, tools } of sizes) {
    const rows = [
      ['tokens', 'bytes', ...parts, 'tool'],
      ...tools.map((tool) => [
        toText(tool.tokens),
        toText(tool.bytes),
        ...parts.map((part) => toText(tool.parts[part])),
        tool.name,
      ]),
    ]
    const widths = rows[0]?.map((_, column) =>
      Math.max(...rows.map((row) => row[column]?.length ?? 0)),
    )
    for (const row of rows)
      print(
        row
          .map((cell, column) =>
            column === row.length - 1 ? cell : cell.padStart(widths?.[column] ?? 0),
          )
          .join('  '),
      )
    print(
      `${mount}: ${count(tools.length, 'tool')}, ${toText(bytes)} bytes, about ${toText(tokens)} tokens`,
    )
  }
  print(
    'A token is estimated as four bytes of JSON, without _meta, which clients do not show to models.',
  )
}

export const printSizesAsJson = (sizes: readonly ListSize[]): void =>
  printJson(
    sizes.flatMap(({ mount, bytes, tokens, tools }) => [
      { id: mount, kind: 'mount', bytes, tokens, tools: tools.length },
      ...tools.map((tool) => ({ id: tool.name, kind: 'tool', mount, ...tool })),
    ]),
  )

const toText = (value: number): string => value.toLocaleString('en')
