import { digestJson } from '../../../json/digest-json.ts'
import type { LoadedHandler, ManifestHandler } from './routes.ts'

/**
 * Handlers by capability id, from the named exports or the default export of a module. `refundOrder`
 * also matches `refund-order`. Without the digest of a module, only the text of the function is covered.
 */
export function toHandlers(
  moduleExports: Readonly<Record<string, unknown>>,
  code?: string,
): ReadonlyMap<string, LoadedHandler> {
  const { default: defaultExport, ...namedExports } = moduleExports
  const values = { ...namedExports, ...(typeof defaultExport === 'object' ? defaultExport : {}) }
  return new Map(
    Object.entries(values).flatMap(([name, value]): [string, LoadedHandler][] => {
      if (typeof value !== 'function') return []
      const run = value as ManifestHandler
      const handler = { run, code: code ?? digestJson(JSON.stringify(String(run))) }
      return [
        [name, handler],
        [toKebabCase(name), handler],
      ]
    }),
  )
}

const toKebabCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
