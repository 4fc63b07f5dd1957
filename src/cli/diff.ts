import { defineCommand } from 'citty'
import { diffBridges, type MountedDifference } from '../runtime/diff-bridges.ts'
import { descriptions } from './descriptions.ts'
import { jsonFlag } from './terminal/flags.ts'
import { openWithoutStore } from './terminal/open.ts'
import { count, print, printJson, printMessage, toLine } from './terminal/print.ts'

const targets = 'a drawbridge.yaml, its folder, an agent.yaml, or a module'

export const diff = defineCommand({
  meta: { name: 'diff', description: descriptions.diff },
  args: {
    old: { type: 'positional', required: true, description: `the old state: ${targets}` },
    new: { type: 'positional', required: true, description: 'the new state, in the same forms' },
    json: jsonFlag,
  },
  async run({ args }) {
    const before = await openWithoutStore(args.old)
    try {
      const now = await openWithoutStore(args.new)
      try {
        for (const { bridge } of [before, now])
          for (const one of bridge.diagnostics)
            if (one.severity === 'error') printMessage(toLine(one))
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
