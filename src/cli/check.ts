import { defineCommand } from 'citty'
import { toStore } from '../runtime/config/find-config.ts'
import { findStoreProblems } from '../runtime/store/store-diagnostics.ts'
import { descriptions } from './descriptions.ts'
import { jsonFlag, whatArgument } from './terminal/flags.ts'
import { openToCheck } from './terminal/open.ts'
import { count, print, printJson, toLine } from './terminal/print.ts'

export const check = defineCommand({
  meta: { name: 'check', description: descriptions.check },
  args: { what: whatArgument, json: jsonFlag },
  async run({ args }) {
    const { bridge, configuration, diagnostics: ofModules } = await openToCheck(args.what)
    const diagnostics = [
      ...findStoreProblems(toStore(configuration), 'store'),
      ...bridge.diagnostics,
      ...ofModules,
      ...(await bridge.probe()),
    ]
    const errors = diagnostics.filter(({ severity }) => severity === 'error').length
    if (args.json) printJson(diagnostics.map((one, index) => ({ id: String(index + 1), ...one })))
    else {
      for (const diagnostic of diagnostics) print(toLine(diagnostic))
      const tools = [...bridge.mounts.values()].reduce((sum, one) => sum + one.capabilities.size, 0)
      const warnings = diagnostics.filter(({ severity }) => severity === 'warning').length
      print(`${count(tools, 'tool')}, ${count(errors, 'error')}, ${count(warnings, 'warning')}`)
    }
    await bridge.close()
    return errors > 0 ? 1 : 0
  },
})
