import { defineCommand } from 'citty'
import type { Capability } from '../capability/capability.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { measureLists } from '../runtime/tool-sizes.ts'
import { descriptions } from './descriptions.ts'
import { printSizes, printSizesAsJson } from './print-sizes.ts'
import { envOptionalFlag, jsonFlag, whatArgument } from './terminal/flags.ts'
import { createUnset, openWithoutStore, printUnset } from './terminal/open.ts'
import { print, printJson, printMessage, toLines } from './terminal/print.ts'
import { UsageError } from './terminal/usage-error.ts'

export const list = defineCommand({
  meta: { name: 'list', description: descriptions.list },
  args: {
    what: whatArgument,
    json: jsonFlag,
    tools: { type: 'boolean', description: 'print the exact tools/list result instead' },
    size: {
      type: 'boolean',
      description: 'print the size of each tool in tools/list instead, the largest first',
    },
    mount: {
      type: 'string',
      description: 'only this mount (default: all; with --tools the only mount, or /mcp)',
    },
    'env-optional': envOptionalFlag,
  },
  async run({ args }) {
    if (args.size && args.tools) throw new UsageError('--size and --tools exclude each other.')
    const unset = createUnset(args['env-optional'])
    const { bridge } = await openWithoutStore(args.what, unset)
    printUnset(unset)
    if (args.mount !== undefined && !bridge.mounts.has(args.mount))
      throw new UsageError(
        `There is no mount ${args.mount}. Available: ${[...bridge.mounts.keys()].join(', ')}.`,
      )
    const found = unset?.amend(bridge.diagnostics) ?? bridge.diagnostics
    const errors = found.filter(({ severity }) => severity === 'error')
    for (const line of toLines(errors)) printMessage(line)
    const mask = <T>(value: T): T => unset?.maskJson(value) ?? value
    if (args.size) {
      const sizes = await measureLists(bridge, args.mount)
      if (args.json) printSizesAsJson(sizes)
      else printSizes(sizes)
    } else if (args.tools) printJson(mask(await bridge.list(dropUndefined({ mount: args.mount }))))
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
            return mask({
              id: capability.name,
              mount,
              fingerprint,
              ...plain,
              input: input.schema,
              ...(output && { output: output.schema }),
            })
          }),
        )
      else for (const { mount, capability } of rows) print(mask(toRow(mount, capability)))
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
