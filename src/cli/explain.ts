import { text } from 'node:stream/consumers'
import { defineCommand } from 'citty'
import { type Caller, localUser } from '../capability/caller.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import type { Explanation } from '../runtime/drawbridge.ts'
import { descriptions } from './descriptions.ts'
import { parseInput, toCallWords } from './terminal/call-arguments.ts'
import { callArguments, envOptionalFlag, jsonFlag, mountFlag } from './terminal/flags.ts'
import { createUnset, openBridge, printUnset } from './terminal/open.ts'
import { fail, openInput, print, printJson } from './terminal/print.ts'

export const explain = defineCommand({
  meta: { name: 'explain', description: descriptions.explain },
  args: {
    ...callArguments,
    as: {
      type: 'string',
      description: 'subject of the caller (default: the local user, who holds every scope)',
    },
    scopes: {
      type: 'string',
      description: 'scopes of the caller named by --as, separated by commas (default: none)',
    },
    key: { type: 'string', description: 'idempotency key of the call' },
    mount: mountFlag,
    json: jsonFlag,
    'env-optional': envOptionalFlag,
  },
  async run({ args }) {
    const { what, name, json } = toCallWords(args._, 'explain')
    const input = parseInput(json === '-' ? await text(openInput()) : json)
    const caller: Caller =
      args.as === undefined
        ? localUser
        : {
            subject: args.as,
            scopes: new Set((args.scopes ?? '').split(',').filter((scope) => scope)),
          }
    const unset = createUnset(args['env-optional'])
    const { bridge } = await openBridge(what, { store: 'existing', ...dropUndefined({ unset }) })
    try {
      printUnset(unset)
      const found = await bridge.explain(name, input, {
        caller,
        ...dropUndefined({ mount: args.mount, idempotencyKey: args.key }),
      })
      const explanations = unset?.maskJson(found) ?? found
      if (!explanations) return fail(`There is no tool ${name}. "drawbridge list" shows all tools.`)
      if (args.json) printJson(explanations.map(({ step, ...rest }) => ({ id: step, ...rest })))
      else for (const one of explanations) print(toLine(one))
      return explanations.every(({ would }) => would === 'pass') ? 0 : 1
    } finally {
      await bridge.close()
    }
  },
})

const toLine = ({ step, would, code, why }: Explanation): string =>
  [step.padEnd(12), would.padEnd(7), code, why].filter(Boolean).join(' ')
