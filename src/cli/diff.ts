import { defineCommand } from 'citty'
import { dropUndefined } from '../json/drop-undefined.ts'
import { diffBridges, isSerious, type MountedDifference } from '../runtime/diff-bridges.ts'
import { descriptions } from './descriptions.ts'
import { toMarkdown } from './diff/to-markdown.ts'
import { toSarif } from './diff/to-sarif.ts'
import { toText } from './diff/to-text.ts'
import { envOptionalFlag, jsonFlag } from './terminal/flags.ts'
import { createUnset, openWithoutStore, printUnset } from './terminal/open.ts'
import { print, printExactly, printJson } from './terminal/print.ts'
import { UsageError } from './terminal/usage-error.ts'

const targets = 'a drawbridge.yaml, its folder, an agent.yaml, or a module'

export const diff = defineCommand({
  meta: { name: 'diff', description: descriptions.diff },
  args: {
    old: { type: 'positional', required: true, description: `the old state: ${targets}` },
    new: { type: 'positional', required: true, description: 'the new state, in the same forms' },
    format: {
      type: 'string',
      description: 'text, json, markdown (for a pull request) or sarif (for code scanning)',
    },
    json: jsonFlag,
    'env-optional': envOptionalFlag,
  },
  async run({ args }) {
    const write = toWriter(args.format ?? (args.json ? 'json' : 'text'), args.json ?? false)
    const unset = createUnset(args['env-optional'])
    const before = await openWithoutStore(args.old, unset)
    try {
      const now = await openWithoutStore(args.new, unset)
      try {
        printUnset(unset)
        const differences = diffBridges(before, now, {
          cwd: process.cwd(),
          ...dropUndefined({ unset }),
        })
        write(differences, now.configuration.file)
        return differences.some(isSerious) ? 1 : 0
      } finally {
        await now.bridge.close()
      }
    } finally {
      await before.bridge.close()
    }
  },
})

type Writer = (differences: readonly MountedDifference[], newFile: string) => void

const writers: Readonly<Record<string, Writer>> = {
  text: (differences) => print(toText(differences)),
  json: (differences) =>
    printJson(differences.map((one, index) => ({ id: String(index + 1), ...one }))),
  markdown: (differences) => printExactly(toMarkdown(differences)),
  sarif: (differences, newFile) => printJson(toSarif(differences, { cwd: process.cwd(), newFile })),
}

function toWriter(format: string, isJson: boolean): Writer {
  if (isJson && format !== 'json')
    throw new UsageError(`--json and --format ${format} exclude each other.`)
  const writer = Object.hasOwn(writers, format) ? writers[format] : undefined
  if (writer) return writer
  throw new UsageError(`--format must be one of ${Object.keys(writers).join(', ')}.`)
}
