import { digestJson } from '../../../json/digest-json.ts'
import type { LoadedHandler, ManifestHandler } from './routes.ts'

/** The handlers of a manifest: a user's module, or an object in code. */
export interface Handlers {
  /** By capability id: the exported name, and its form with hyphens. */
  readonly byId: ReadonlyMap<string, LoadedHandler>
  readonly exports: readonly HandlerExport[]
  /** Why the module does not load; then no capability is served. */
  readonly fault?: string
  /** `file:line:column` of an export, or of the fault; absent if there is no module. */
  readonly positionOf?: (name?: string) => Promise<string>
}

export interface HandlerExport {
  readonly name: string
  /** The capability ids that it implements. */
  readonly ids: readonly string[]
  readonly isFunction: boolean
}

/**
 * Handlers by capability id, from the named exports or the default export of a module. `refundOrder`
 * also matches `refund-order` and `refund_order`. Without the digest of a module, only the text of the function is covered.
 */
export function toHandlers(
  moduleExports: Readonly<Record<string, unknown>>,
  code?: string,
): Handlers {
  const { default: defaultExport, ...namedExports } = moduleExports
  const values =
    typeof defaultExport === 'function'
      ? { default: defaultExport, ...namedExports }
      : { ...namedExports, ...(typeof defaultExport === 'object' ? defaultExport : {}) }
  const byId = new Map<string, LoadedHandler>()
  const exports = Object.entries(values).map(([name, value]): HandlerExport => {
    const ids = [...new Set([name, toSeparated(name, '-'), toSeparated(name, '_')])]
    if (typeof value !== 'function') return { name, ids, isFunction: false }
    const run = value as ManifestHandler
    const handler = { run, code: code ?? digestJson(JSON.stringify(String(run))) }
    for (const id of ids) byId.set(id, handler)
    return { name, ids, isFunction: true }
  })
  return { byId, exports }
}

const toSeparated = (name: string, separator: '-' | '_'): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `${separator}${letter.toLowerCase()}`)
