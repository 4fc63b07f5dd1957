import { text } from 'node:stream/consumers'
import { defineCommand } from 'citty'
import { isPlainObject } from '../capability/json.ts'
import { RpcError } from '../mcp/rpc-error.ts'
import { jsonFlag, open } from './open.ts'
import { print, printJson, say } from './print.ts'
import { UsageError } from './usage-error.ts'

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
  },
  async run({ args }) {
    const { what, name, json } = toParts(args._)
    const input = parse(json === '-' ? await text(process.stdin) : json)
    const { bridge } = await open(what)
    try {
      const result = await bridge.call(
        name,
        input,
        args.mount === undefined ? {} : { mount: args.mount },
      )
      if (args.json) printJson(result)
      else
        for (const block of result.content)
          print(block.type === 'text' ? block.text : JSON.stringify(block))
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

/** What is left out is told from what is there: JSON looks like nothing else. */
function toParts(words: readonly string[]): { what: string; name: string; json: string } {
  const last = words.at(-1) ?? ''
  const given = last === '-' || /^\s*[[{"]/.test(last)
  const rest = given ? words.slice(0, -1) : words
  const [first, second] = rest
  const json = given ? last : '{}'
  if (first === undefined)
    throw new UsageError('Say which tool: drawbridge call [WHAT] NAME [JSON]')
  if (rest[2] !== undefined) throw new UsageError(`What is ${JSON.stringify(rest[2])} for?`)
  return second === undefined
    ? { what: '.', name: first, json }
    : { what: first, name: second, json }
}

function parse(json: string): unknown {
  let input: unknown
  try {
    input = JSON.parse(json)
  } catch (error) {
    throw new UsageError(`The arguments are not JSON: ${(error as Error).message}`)
  }
  if (isPlainObject(input)) return input
  throw new UsageError('The arguments must be a JSON object.')
}
