import { defineCommand } from 'citty'
import type { Capability } from '../capability/capability.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { descriptions } from './descriptions.ts'
import { jsonFlag, whatArgument } from './terminal/flags.ts'
import { openWithoutStore } from './terminal/open.ts'
import { print, printJson, printMessage, toLine } from './terminal/print.ts'
import { UsageError } from './terminal/usage-error.ts'

export const list = defineCommand({
  meta: { name: 'list', description: descriptions.list },
  args: {
    what: whatArgument,
    json: jsonFlag,
    tools: { type: 'boolean', description: 'print the exact tools/list result instead' },
    mount: {
      type: 'string',
      description: 'only this mount (default: all; with --tools the only mount, or /mcp)',
    },
  },
  async run({ args }) {
    const { bridge } = await openWithoutStore(args.what)
    if (args.mount !== undefined && !bridge.mounts.has(args.mount))
      throw new UsageError(
        `There is no mount ${args.mount}. Available: ${[...bridge.mounts.keys()].join(', ')}.`,
      )
    for (const one of bridge.diagnostics) if (one.severity === 'error') printMessage(toLine(one))
    if (args.tools) printJson(await bridge.list(dropUndefined({ mount: args.mount })))
    else {
      const mounts = [...bridge.mounts].filter(([path]) => (args.mount ?? path) === path)
      const rows = mounts.flatMap(([mount, { capabilities }]) =>
        [...capabilities.values()].map(({ capability, fingerprint }) => ({
          mount,
          capability,
          fingerprint,
        })),
      )
      if (args.json)
        printJson(
          rows.map(({ mount, capability, fingerprint }) => {
            const { input, output, ...plain } = capability
            return {
              id: capability.name,
              mount,
              fingerprint,
              ...plain,
              input: input.schema,
              ...(output && { output: output.schema }),
            }
          }),
        )
      else for (const { mount, capability } of rows) print(toRow(mount, capability))
    }
    await bridge.close()
    return 0
  },
})

function toRow(mount: string, { name, effects, rules, origin, hidden }: Capability): string {
  const marks = [
    effects.writes ? (effects.irreversible ? 'writes, irreversible' : 'writes') : 'reads',
    ...(effects.repeatable ? ['repeatable'] : []),
    ...(effects.reachesOut ? ['reaches out'] : []),
    ...(rules.permissions.length > 0 ? [`needs ${rules.permissions.join(' ')}`] : []),
    ...(rules.approval ? ['needs approval'] : []),
    ...(hidden ? ['not listed'] : []),
  ]
  return `${name.padEnd(28)} ${marks.join(', ').padEnd(36)} ${mount} ${origin.source}#${origin.pointer}`
}
