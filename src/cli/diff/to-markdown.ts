import { escapeHidden } from '../../json/hidden-characters.ts'
import { isLoadError, isSerious, type MountedDifference } from '../../runtime/diff-bridges.ts'
import { count } from '../terminal/print.ts'
import { toMarks, toTitle, toTotals } from './to-text.ts'

/** Of one table; GitHub rejects comments of more than 65,536 characters. */
const maxRows = 60
const maxTableLength = 28_000
const maxCellLength = 320
const maxNames = 3

/** A summary for a pull request: what widens or breaks in a table, the rest folded. */
export function toMarkdown(differences: readonly MountedDifference[]): string {
  const [serious, others] = [
    differences.filter(isSerious),
    differences.filter((one) => !isSerious(one)),
  ]
  const reviews = others.filter(({ review }) => review).length
  const headline =
    serious.length > 0
      ? `**Review needed:** ${toTotals(differences)}.`
      : `Nothing widens or breaks: ${toTotals(differences)}.`
  const folded = `${count(others.length, 'other change')}${reviews > 0 ? `, ${reviews} to review` : ''}`
  return [
    '### Drawbridge: changes of the trust surface',
    headline,
    ...(serious.length > 0 ? [toTable(serious)] : []),
    ...(others.length > 0
      ? [`<details><summary>${folded}</summary>`, toTable(others), '</details>']
      : []),
  ].join('\n\n')
}

/** Errors first, then widening changes; the same change of several capabilities is one row. */
function toTable(differences: readonly MountedDifference[]): string {
  const groups = new Map<string, MountedDifference[]>()
  for (const one of [...differences].sort((a, b) => toRank(a) - toRank(b))) {
    const key = JSON.stringify([one.noun, one.mount, one.pointer, toMarks(one), one.message])
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  const rows: string[] = []
  let length = 0
  for (const group of groups.values()) {
    const row = toRow(group)
    length += row.length
    if (rows.length === maxRows || length > maxTableLength) break
    rows.push(row)
  }
  const hidden = groups.size - rows.length
  const more = hidden > 0 ? [`| … | | ${hidden} more |`] : []
  return ['| effect | where | change |', '|---|---|---|', ...rows, ...more].join('\n')
}

function toRank(difference: MountedDifference): number {
  const { effect, breaking, review } = difference
  if (isLoadError(difference)) return 0
  return effect === 'widening' ? 1 : breaking ? 2 : review ? 3 : 4
}

function toRow(group: readonly MountedDifference[]): string {
  const [first] = group
  if (!first) return ''
  const names = [...new Set(group.map(toTitle))]
  const hidden = names.length - maxNames
  const where = `${names.slice(0, maxNames).join(', ')}${hidden > 0 ? ` and ${hidden} more` : ''}`
  const place = first.at === undefined ? '' : ` (${first.at})`
  const isUndecided = first.review && !isSerious(first)
  const marks = isUndecided ? 'to review' : toMarks(first)
  return `| ${marks} | ${escapeText(`${where}${place}`)} | ${escapeText(first.message)} |`
}

/**
 * Texts of sources must not act in a pull request: no markup, links, mentions of users or references to
 * issues, and no end of the table's row.
 */
function escapeText(text: string): string {
  const shortened = text.length > maxCellLength ? `${text.slice(0, maxCellLength)}…` : text
  return (
    escapeHidden(shortened.toWellFormed())
      .replaceAll(/\s+/g, ' ')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll(/[\\`*_{}[\]()#+!|~:]/g, String.raw`\$&`)
      .replaceAll(/www\./gi, String.raw`www\.`)
      .replaceAll(/[@#]/g, '$&&#8203;')
      // GH-12 is an issue, and 7 to 40 hexadecimal digits are a commit.
      .replaceAll(/\bGH-(?=\d)/gi, '$&&#8203;')
      .replaceAll(/\b[0-9a-f]{4}(?=[0-9a-f]{3,36}\b)/g, '$&&#8203;')
  )
}
