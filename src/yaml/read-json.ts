import { isDeeper, maxDepth } from '../json/is-deeper.ts'
import { JsonOffsets } from './find-json-offset.ts'
import type { YamlReading } from './read-yaml.ts'

/**
 * Parsed JSON with source positions, for large documents: positions are looked up when they are needed.
 * Returns nothing for text that is not JSON, whose error the YAML parser explains with a position.
 */
export function readJson(
  text: string,
  file: string,
): Pick<YamlReading, 'value' | 'faults' | 'at'> | undefined {
  const toUnreadable = (message: string) => ({
    value: undefined,
    faults: [{ at: `${file}:1:1`, message }],
    at: () => `${file}:1:1`,
  })
  if (text.length > maxLength)
    return toUnreadable(`the file is longer than ${maxLength} characters`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (isDeeper(value, maxDepth))
    return toUnreadable(`the file is nested deeper than ${maxDepth} levels`)
  const offsets = new JsonOffsets(text)
  let lineStarts: readonly number[] | undefined
  return {
    value,
    faults: [],
    at(path) {
      lineStarts ??= listLineStarts(text)
      const { line, column } = toLine(lineStarts, offsets.find(path))
      return `${file}:${line}:${column}`
    },
  }
}

const maxLength = 32 * 1024 * 1024

function listLineStarts(text: string): readonly number[] {
  const starts = [0]
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1))
    starts.push(end + 1)
  return starts
}

function toLine(starts: readonly number[], offset: number): { line: number; column: number } {
  let [first, last] = [0, starts.length - 1]
  while (first < last) {
    const middle = Math.ceil((first + last) / 2)
    if ((starts[middle] as number) <= offset) first = middle
    else last = middle - 1
  }
  return { line: first + 1, column: offset - (starts[first] as number) + 1 }
}
