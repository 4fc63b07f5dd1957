import { defineCommand } from 'citty'
import { diffBridges, type MountedDifference } from '../runtime/diff-bridges.ts'
import { jsonFlag } from './terminal/flags.ts'
import { look } from './terminal/open.ts'
import { count, print, printJson, say, toLine } from './terminal/print.ts'

const what = 'a drawbridge.yaml, its folder, an agent.yaml, or a module'

export const diff = defineCommand({
  meta: {
    name: 'diff',
    description: 'What changed between two of them; exit code 1 when it widens or breaks.',
  },
  args: {
    old: { type: 'positional', required: true, description: `how it was: ${what}` },
    new: { type: 'positional', required: true, description: 'how it is now: another' },
    json: jsonFlag,
  },
  async run({ args }) {
    const before = await look(args.old)
    try {
      const now = await look(args.new)
      try {
        for (const { bridge } of [before, now])
          for (const one of bridge.diagnostics) if (one.severity === 'error') say(toLine(one))
        const differences = diffBridges(before, now)
        if (args.json)
          printJson(differences.map((one, index) => ({ id: String(index + 1), ...one })))
        else printGroups(differences)
        return differences.some(isSerious) ? 1 : 0
      } finally {
        await now.bridge.close()
      }
    } finally {
      await before.bridge.close()
    }
  },
})

const isSerious = ({ effect, breaking }: MountedDifference): boolean =>
  breaking || effect === 'widening'

function printGroups(differences: readonly MountedDifference[]): void {
  const groups = new Map<string, MountedDifference[]>()
  for (const one of differences) {
    const title = toTitle(one)
    groups.set(title, [...(groups.get(title) ?? []), one])
  }
  for (const [title, group] of groups) {
    print(title)
    for (const one of group) print(`  ${toMarks(one).padEnd(20)} ${toPlace(one)}${one.message}`)
  }
  const breaking = differences.filter((one) => one.breaking).length
  const widening = differences.filter(({ effect }) => effect === 'widening').length
  print(`${count(differences.length, 'change')}, ${breaking} breaking, ${widening} widening`)
}

const toTitle = ({ noun, capability, mount }: MountedDifference): string =>
  noun === 'policy'
    ? 'policy'
    : `${noun === 'capability' ? '' : `${noun} `}${capability}${mount === '/mcp' ? '' : ` on ${mount}`}`

const toMarks = ({ effect, breaking }: MountedDifference): string =>
  breaking ? (effect === 'neutral' ? 'breaking' : `breaking, ${effect}`) : effect

const toPlace = ({ pointer }: MountedDifference): string => (pointer === '' ? '' : `${pointer}: `)
