import { isLoadError, type MountedDifference } from '../../runtime/diff-bridges.ts'
import { count } from '../terminal/print.ts'

/** The differences for a terminal, grouped by what they are about, and a line with totals. */
export function toText(differences: readonly MountedDifference[]): string {
  const groups = new Map<string, MountedDifference[]>()
  for (const one of differences) {
    const title = toTitle(one)
    groups.set(title, [...(groups.get(title) ?? []), one])
  }
  const lines = [...groups].flatMap(([title, group]) => [
    title,
    ...group.map((one) => `  ${toMarks(one).padEnd(20)} ${toPlace(one)}${one.message}`),
  ])
  return [...lines, toTotals(differences)].join('\n')
}

export function toTotals(differences: readonly MountedDifference[]): string {
  const breaking = differences.filter((one) => one.breaking).length
  const widening = differences.filter(({ effect }) => effect === 'widening').length
  const errors = differences.filter(isLoadError).length
  const totals = `${count(differences.length - errors, 'change')}, ${breaking} breaking, ${widening} widening`
  return errors > 0 ? `${totals}, ${count(errors, 'error')}` : totals
}

/** What a difference is about. */
export function toTitle({ noun, capability, mount }: MountedDifference): string {
  if (noun === 'policy' || noun === 'configuration') return noun
  // One line, whatever a source calls itself.
  const line = capability.replaceAll(/\s+/g, ' ')
  const name = noun === 'capability' ? line : `${noun} ${line}`
  return mount === '/mcp' || mount === '' ? name : `${name} on ${mount}`
}

export function toMarks(difference: MountedDifference): string {
  const { effect, breaking } = difference
  if (isLoadError(difference)) return 'error'
  return breaking ? (effect === 'neutral' ? 'breaking' : `breaking, ${effect}`) : effect
}

const toPlace = ({ pointer }: MountedDifference): string => (pointer === '' ? '' : `${pointer}: `)
