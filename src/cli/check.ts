import { defineCommand } from 'citty'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { toStore } from '../runtime/config/find-config.ts'
import { diagnoseSizes } from '../runtime/diagnose-sizes.ts'
import type { Drawbridge } from '../runtime/drawbridge.ts'
import { findStoreProblems } from '../runtime/store/store-diagnostics.ts'
import { measureLists } from '../runtime/tool-sizes.ts'
import { descriptions } from './descriptions.ts'
import { envOptionalFlag, jsonFlag, whatArgument } from './terminal/flags.ts'
import { createUnset, openToCheck } from './terminal/open.ts'
import { count, print, printJson, printMessage, toLines } from './terminal/print.ts'
import { UsageError } from './terminal/usage-error.ts'

export const check = defineCommand({
  meta: { name: 'check', description: descriptions.check },
  args: {
    what: whatArgument,
    json: jsonFlag,
    live: {
      type: 'boolean',
      description: 'also ask the servers behind the sources; no tool is run',
    },
    'env-optional': envOptionalFlag,
  },
  async run({ args }) {
    if (args.live && args['env-optional'])
      throw new UsageError('--live needs the values of variables, so it excludes --env-optional.')
    const unset = createUnset(args['env-optional'])
    const { bridge, configuration, diagnostics: ofModules } = await openToCheck(args.what, unset)
    const found = [
      ...findStoreProblems(toStore(configuration), 'store'),
      ...bridge.diagnostics,
      ...ofModules,
      ...diagnoseSizes(await measureLists(bridge)),
      // Nothing may connect with a placeholder.
      ...(unset?.areIn(configuration.config) ? [] : await bridge.probe()),
      ...(args.live ? await probeWithProgress(bridge) : []),
    ]
    const diagnostics = unset?.amend(found) ?? found
    const errors = diagnostics.filter(({ severity }) => severity === 'error').length
    if (args.json) printJson(diagnostics.map((one, index) => ({ id: String(index + 1), ...one })))
    else {
      for (const line of toLines(diagnostics)) print(line)
      const tools = [...bridge.mounts.values()].reduce((sum, one) => sum + one.capabilities.size, 0)
      const warnings = diagnostics.filter(({ severity }) => severity === 'warning').length
      print(`${count(tools, 'tool')}, ${count(errors, 'error')}, ${count(warnings, 'warning')}`)
    }
    await bridge.close()
    return errors > 0 ? 1 : 0
  },
})

const progressIntervalMs = 2000

/** Says on standard error how far it is, if it takes long. */
async function probeWithProgress(bridge: Drawbridge): Promise<readonly Diagnostic[]> {
  let progress = ''
  const timer = setInterval(() => printMessage(progress), progressIntervalMs)
  try {
    return await bridge.probeUpstreams({
      onProgress: (done, total) => {
        progress = `Asking servers: ${done} of ${total} have answered.`
      },
    })
  } finally {
    clearInterval(timer)
  }
}
