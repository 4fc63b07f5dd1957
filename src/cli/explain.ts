import { text } from 'node:stream/consumers'
import { defineCommand } from 'citty'
import { type Caller, localUser } from '../capability/caller.ts'
import type { Explanation } from '../runtime/drawbridge.ts'
import { toInput, toParts } from './terminal/call-arguments.ts'
import { jsonFlag } from './terminal/flags.ts'
import { open } from './terminal/open.ts'
import { print, printJson, say } from './terminal/print.ts'

export const explain = defineCommand({
  meta: {
    name: 'explain',
    description:
      'What every step would decide about a call, without making it: [WHAT] NAME [JSON].',
  },
  args: {
    words: { type: 'positional', required: true, description: '[WHAT] NAME [JSON]' },
    as: { type: 'string', description: 'who would call (the local user, who holds every scope)' },
    scopes: {
      type: 'string',
      default: '',
      description: 'what they would hold, separated by commas',
    },
    key: { type: 'string', description: 'the idempotency key they would send' },
    mount: { type: 'string', description: 'which mount has the tool (/mcp)' },
    json: jsonFlag,
  },
  async run({ args }) {
    const { what, name, json } = toParts(args._, 'explain')
    const input = toInput(json === '-' ? await text(process.stdin) : json)
    const caller: Caller =
      args.as === undefined
        ? localUser
        : { subject: args.as, scopes: new Set(args.scopes.split(',').filter((scope) => scope)) }
    const { bridge } = await open(what, { remembers: 'if there is a store' })
    try {
      const told = await bridge.explain(name, input, {
        caller,
        ...(args.mount !== undefined && { mount: args.mount }),
        ...(args.key !== undefined && { meta: { 'dev.drawbridge/idempotency-key': args.key } }),
      })
      if (!told) {
        say(`There is no tool ${name}. "drawbridge list" shows what there is.`)
        return 1
      }
      if (args.json) printJson(told.map(({ step, ...rest }) => ({ id: step, ...rest })))
      else for (const one of told) print(toLine(one))
      return told.every(({ would }) => would === 'pass') ? 0 : 1
    } finally {
      await bridge.close()
    }
  },
})

const toLine = ({ step, would, code, why }: Explanation): string =>
  [step.padEnd(12), would.padEnd(7), code, why].filter(Boolean).join(' ')
