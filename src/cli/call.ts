import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineCommand } from 'citty'
import { dropUndefined } from '../json/drop-undefined.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { type CallToolResult, RpcError } from '../runtime/drawbridge.ts'
import { descriptions } from './descriptions.ts'
import { parseInput, toCallWords } from './terminal/call-arguments.ts'
import { callArguments, jsonFlag, mountFlag } from './terminal/flags.ts'
import { openBridge } from './terminal/open.ts'
import {
  fail,
  openInput,
  output,
  print,
  printExactly,
  printJson,
  printJsonLine,
  printMessage,
} from './terminal/print.ts'

export const call = defineCommand({
  meta: { name: 'call', description: descriptions.call },
  args: {
    ...callArguments,
    json: jsonFlag,
    mount: mountFlag,
    key: { type: 'string', description: 'idempotency key: calls with the same key run once' },
  },
  async run({ args }) {
    const { what, name, json } = toCallWords(args._, 'call')
    const input = parseInput(json === '-' ? await text(openInput()) : json)
    const { bridge } = await openBridge(what)
    try {
      const { mount, key: idempotencyKey } = args
      const options = dropUndefined({ mount, idempotencyKey })
      const result = await callWhenChecked(() => bridge.call(name, input, options))
      if (args.json) printJson(result)
      else for (const block of result.content) printBlock(block)
      printApprovalCommand(result, what)
      return result.isError ? 1 : 0
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      return fail(`${error.message} ("drawbridge list" shows all tools.)`)
    } finally {
      await bridge.close()
    }
  },
})

/** The check of a large ledger would start again with the next process, and never be complete. */
async function callWhenChecked(makeCall: () => Promise<CallToolResult>): Promise<CallToolResult> {
  for (;;) {
    const result = await makeCall()
    const failure = result._meta?.['dev.drawbridge/failure']
    if (!isPlainObject(failure) || failure.code !== 'ledger_checking') return result
    await sleep(500)
  }
}

/** A program gets the text of a result as it is; on a terminal its control characters are escaped. */
function printBlock(block: CallToolResult['content'][number]): void {
  if (block.type !== 'text') printJsonLine(block)
  else if (output.isTTY) print(block.text)
  else printExactly(block.text)
}

/** The result is written for a model and does not name the configuration; a person at a terminal needs it. */
function printApprovalCommand({ _meta = {} }: CallToolResult, what: string): void {
  const failure = _meta['dev.drawbridge/failure']
  if (!isPlainObject(failure) || failure.code !== 'approval_required') return
  const { approval } = isPlainObject(failure.details) ? failure.details : {}
  printMessage(`drawbridge approvals approve ${approval} --what ${quote(path.resolve(what))}`)
}

/** Quotes for a POSIX shell. */
const quote = (word: string): string =>
  /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
