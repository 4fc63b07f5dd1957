import { defineCommand } from 'citty'
import type { Logger } from 'pino'
import type { Drawbridge } from '../runtime/drawbridge.ts'
import { watch } from '../runtime/watch.ts'
import { whatArgument } from './terminal/flags.ts'
import { createLogger, open, toOpenOptions } from './terminal/open.ts'
import { count, output, say, toLine } from './terminal/print.ts'
import { UsageError } from './terminal/usage-error.ts'

export const serve = defineCommand({
  meta: {
    name: 'serve',
    description: 'Serves over Streamable HTTP, or over stdio with --stdio, until it is stopped.',
  },
  args: {
    what: whatArgument,
    host: { type: 'string', description: 'address to listen on (127.0.0.1)' },
    port: { type: 'string', description: 'port to listen on (4747; 0 takes a free one)' },
    stdio: { type: 'boolean', description: 'serve one client on standard input and output' },
    mount: { type: 'string', description: 'which mount stdio serves (/mcp)' },
    watch: { type: 'boolean', description: 'reload when a file changes' },
  },
  async run({ args }) {
    const log = createLogger()
    const port = args.port === undefined ? undefined : toPort(args.port)
    const { bridge, found } = await open(args.what, {
      log,
      fresh: args.watch ?? false,
      ...(args.host !== undefined && { host: args.host }),
    })
    const stopSurviving = surviveToolErrors(log, bridge)
    for (const diagnostic of bridge.diagnostics) say(toLine(diagnostic))
    if (found.config.policy.mode === 'observe')
      say('policy.mode is observe: what would be refused or asked is only written down')
    let stopWatching: (() => void) | undefined
    const watchNow = () => {
      if (args.watch)
        stopWatching = watch(args.what, bridge, found, toOpenOptions({ log, fresh: true }), say)
    }
    const stop = async () => {
      stopWatching?.()
      await bridge.close()
      stopSurviving()
    }
    if (args.stdio) {
      const mount = args.mount === undefined ? {} : { mount: args.mount }
      const connection = await bridge.stdio({ output, ...mount })
      watchNow()
      for (const signal of ['SIGINT', 'SIGTERM'] as const)
        process.once(signal, () => void connection.close())
      const reason = await connection.closed
      await stop()
      if (reason) say(`The connection was given up: ${reason.message}`)
      return reason ? 1 : 0
    }
    const address = await bridge.listen(port === undefined ? {} : { port })
    watchNow()
    const host = args.host ?? found.config.http.host
    const used = new Set(found.config.sources.map(({ mount }) => mount))
    welcome(bridge, used, `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`)
    await new Promise<void>((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
    })
    await stop()
    return 0
  },
})

function toPort(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port
  throw new UsageError(`--port must be a number from 0 to 65535, not ${JSON.stringify(text)}.`)
}

/** Keeps serving when a tool throws outside of a call, such as in a timer. Returns how to undo this. */
function surviveToolErrors(log: Logger, bridge: Drawbridge): () => void {
  const logAs = (event: string) => (thrown: unknown) =>
    log.error({ cause: bridge.describe(thrown) }, `${event} outside of any call`)
  const [onException, onRejection] = [logAs('thrown'), logAs('rejected')]
  process.on('uncaughtException', onException)
  process.on('unhandledRejection', onRejection)
  return () => {
    process.off('uncaughtException', onException)
    process.off('unhandledRejection', onRejection)
  }
}

function welcome(bridge: Drawbridge, used: ReadonlySet<string>, address: string): void {
  const { name, version } = bridge.identity
  say(`${name} ${version}`)
  for (const [path, snapshot] of bridge.mounts) {
    // /mcp is there also when everything is elsewhere, and nobody needs to know.
    if (used.size > 0 && !used.has(path)) continue
    const { capabilities, views, templates, prompts } = snapshot
    const offers = [
      count(capabilities.size, 'tool'),
      ...(views.size + templates.length > 0 ? [count(views.size + templates.length, 'view')] : []),
      ...(prompts.size > 0 ? [count(prompts.size, 'prompt')] : []),
    ]
    say(`  ${address}${path}  ${offers.join(', ')}`)
    const names = [...capabilities.keys()]
    if (names.length > 0) say(`    ${names.slice(0, 12).join(' ')}${names.length > 12 ? ' …' : ''}`)
    // Two servers of one name would push each other out of the client.
    const called = path === '/mcp' ? name : `${name}-${path.split('/').at(-1)}`
    const proof = bridge.asksForToken(path) ? ' --header "Authorization: Bearer TOKEN"' : ''
    say(`  connect a client: claude mcp add --transport http ${called} ${address}${path}${proof}`)
  }
}
