import type { ManifestHandler } from './routes.ts'

/**
 * Handlers by capability id, from the named exports or the default export of a module. `refundOrder`
 * also matches `refund-order`.
 */
export function toHandlers(
  moduleExports: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, ManifestHandler> {
  const { default: defaultExport, ...namedExports } = moduleExports
  const values = { ...namedExports, ...(typeof defaultExport === 'object' ? defaultExport : {}) }
  return new Map(
    Object.entries(values).flatMap(([name, value]): [string, ManifestHandler][] =>
      typeof value === 'function'
        ? [
            [name, value as ManifestHandler],
            [toKebabCase(name), value as ManifestHandler],
          ]
        : [],
    ),
  )
}

const toKebabCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
