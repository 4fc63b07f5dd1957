import path from 'node:path'
import { text } from 'node:stream/consumers'
import { defineCommand } from 'citty'
import { isPlainObject } from '../capability/json.ts'
import { RpcError } from '../mcp/rpc-error.ts'
import type { CallToolResult } from '../mcp/to-result.ts'
import { toInput, toParts } from './terminal/call-arguments.ts'
import { jsonFlag } from './terminal/flags.ts'
import { open } from './terminal/open.ts'
import { print, printJson, say } from './terminal/print.ts'

export const call = defineCommand({
  meta: {
    name: 'call',
    description:
      'One governed call: drawbridge call [WHAT] NAME [JSON]; "-" reads the JSON from stdin.',
  },
  args: {
    words: { type: 'positional', required: false, description: '[WHAT] NAME [JSON]' },
    json: jsonFlag,
    mount: { type: 'string', description: 'which mount has the tool (/mcp)' },
    key: { type: 'string', description: 'an idempotency key: the same call under it runs once' },
  },
  async run({ args }) {
    const { what, name, json } = toParts(args._, 'call')
    const input = toInput(json === '-' ? await text(process.stdin) : json)
    const { bridge } = await open(what)
    try {
      const result = await bridge.call(name, input, {
        ...(args.mount !== undefined && { mount: args.mount }),
        ...(args.key !== undefined && { meta: { 'dev.drawbridge/idempotency-key': args.key } }),
      })
      if (args.json) printJson(result)
      else
        for (const block of result.content)
          print(block.type === 'text' ? block.text : JSON.stringify(block))
      tellHowToApprove(result, what)
      return result.isError ? 1 : 0
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      say(`${error.message} ("drawbridge list" shows what there is.)`)
      return 1
    } finally {
      await bridge.close()
    }
  },
})

/** The answer is written for a model, and leaves out where; here whoever made the call may know. */
function tellHowToApprove({ _meta = {} }: CallToolResult, what: string): void {
  const failure = _meta['dev.drawbridge/failure']
  if (!isPlainObject(failure) || failure.code !== 'approval_required') return
  const { approval } = isPlainObject(failure.details) ? failure.details : {}
  say(`drawbridge approvals approve ${approval} --what ${quote(path.resolve(what))}`)
}

/** As a shell takes it for one word. */
const quote = (word: string): string =>
  /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
