import { defineCommand } from 'citty'
import { dropUndefined } from '../json/drop-undefined.ts'
import type { Drawbridge } from '../runtime/drawbridge.ts'
import { StrayErrors } from '../runtime/modules/stray-errors.ts'
import { watch } from '../runtime/watch.ts'
import { descriptions } from './descriptions.ts'
import { whatArgument } from './terminal/flags.ts'
import { createLogger } from './terminal/logger.ts'
import { openBridge, toOpenOptions } from './terminal/open.ts'
import { count, openInput, output, printMessage, toLines } from './terminal/print.ts'
import { UsageError } from './terminal/usage-error.ts'

export const serve = defineCommand({
  meta: { name: 'serve', description: descriptions.serve },
  args: {
    what: whatArgument,
    host: {
      type: 'string',
      description: 'address to listen on (default: http.host, or 127.0.0.1)',
    },
    port: {
      type: 'string',
      description: 'port to listen on; 0 chooses a free one (default: http.port, or 4747)',
    },
    stdio: { type: 'boolean', description: 'serve one client on standard input and output' },
    mount: {
      type: 'string',
      description: 'mount to serve over stdio (default: the only mount, or /mcp)',
    },
    grace: {
      type: 'string',
      description:
        'seconds that running calls have to end when the server stops (default: 5; with --stdio: 1)',
    },
    watch: { type: 'boolean', description: 'reload when the configuration or a module changes' },
  },
  async run({ args }) {
    const log = createLogger()
    const port = args.port === undefined ? undefined : toPort(args.port)
    // Keeps serving when a tool throws outside of a call, such as in a timer.
    const strayErrors = new StrayErrors()
    const graceMs = args.grace === undefined ? graceDefaults(args.stdio) : toGraceMs(args.grace)
    const { bridge, configuration } = await openBridge(args.what, {
      log,
      strayErrors,
      fresh: args.watch ?? false,
      ...dropUndefined({ host: args.host }),
    })
    const { policy, http, sources } = configuration.config
    for (const line of toLines(bridge.diagnostics)) printMessage(line)
    if (policy.mode === 'observe')
      printMessage('policy.mode is observe: refusals and approvals are only recorded, not enforced')
    let stopWatching: (() => void) | undefined
    const startWatching = () => {
      if (args.watch)
        stopWatching = watch(
          args.what,
          bridge,
          configuration,
          toOpenOptions({ log, fresh: true, strayErrors }),
          printMessage,
        )
    }
    const stop = once(async () => {
      stopWatching?.()
      await bridge.close(graceMs)
      strayErrors.close()
    })
    if (args.stdio) {
      const connection = await bridge.stdio({
        input: openInput(),
        output,
        graceMs,
        ...dropUndefined({ mount: args.mount }),
      })
      startWatching()
      // Running calls are answered before the connection ends.
      for (const signal of stopSignals)
        process.once(signal, () => void stop().then(() => connection.close()))
      const reason = await connection.closed
      await stop()
      if (reason) printMessage(`The connection was closed: ${reason.message}`)
      return reason ? 1 : 0
    }
    const address = await bridge.listen(dropUndefined({ port }))
    startWatching()
    const host = args.host ?? http.host
    const usedMounts = new Set(sources.map(({ mount }) => mount))
    printAddresses(
      bridge,
      usedMounts,
      `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    )
    await new Promise<void>((resolve) => {
      for (const signal of stopSignals) process.once(signal, () => resolve())
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

/** A signal and the end of the connection can both stop the server. */
function once(stop: () => Promise<void>): () => Promise<void> {
  let stopped: Promise<void> | undefined
  return () => {
    stopped ??= stop()
    return stopped
  }
}

/** SIGHUP: the terminal was closed. */
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Hosts kill a server on stdio that does not exit within about two seconds. */
const graceDefaults = (stdio = false): number => (stdio ? 1000 : 5000)

function toGraceMs(text: string): number {
  const seconds = text.trim() === '' ? Number.NaN : Number(text)
  if (seconds >= 0 && seconds <= maxGraceSeconds) return seconds * 1000
  throw new UsageError(
    `--grace must be a number of seconds from 0 to ${maxGraceSeconds}, not ${JSON.stringify(text)}.`,
  )
}

const maxGraceSeconds = 86_400

function printAddresses(
  bridge: Drawbridge,
  usedMounts: ReadonlySet<string>,
  address: string,
): void {
  const { name, version } = bridge.identity
  printMessage(`${name} ${version}`)
  for (const [path, snapshot] of bridge.mounts) {
    // /mcp always exists; leave it out when no source is mounted there.
    if (usedMounts.size > 0 && !usedMounts.has(path)) continue
    const { capabilities, views, templates, prompts } = snapshot
    const offers = [
      count(capabilities.size, 'tool'),
      ...(views.size + templates.length > 0 ? [count(views.size + templates.length, 'view')] : []),
      ...(prompts.size > 0 ? [count(prompts.size, 'prompt')] : []),
    ]
    printMessage(`  ${address}${path}  ${offers.join(', ')}`)
    const names = [...capabilities.keys()]
    if (names.length > 0)
      printMessage(`    ${names.slice(0, 12).join(' ')}${names.length > 12 ? ' …' : ''}`)
    // A client keeps only one server per name, so each mount gets its own.
    const clientName = path === '/mcp' ? name : `${name}-${path.split('/').at(-1)}`
    const header = bridge.requiresToken(path) ? ' --header "Authorization: Bearer TOKEN"' : ''
    printMessage(
      `  connect a client: claude mcp add --transport http ${clientName} ${address}${path}${header}`,
    )
  }
}
