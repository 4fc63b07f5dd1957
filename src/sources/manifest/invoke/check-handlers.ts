import { byCodeUnit } from '../../../json/by-code-unit.ts'
import type { DiagnosticCode } from '../diagnostic-codes.ts'
import type { ValidManifest } from '../reading/read-manifest.ts'
import type { HandlerExport, Handlers } from './to-handlers.ts'

export interface HandlerFinding {
  readonly severity: 'error' | 'warning'
  readonly code: DiagnosticCode
  /** The name of the export; absent for the module as a whole. */
  readonly name?: string
  readonly message: string
}

/** Finds exports that no call can reach. Values that are no functions are ignored unless they have the name of a capability. */
export function checkHandlers(
  { exports, fault }: Handlers,
  { capabilities, declaredIds }: Pick<ValidManifest, 'capabilities' | 'declaredIds'>,
): HandlerFinding[] {
  if (fault !== undefined)
    return [
      {
        severity: 'error',
        code: 'handlers_broken',
        message: `No capability is served, because the handlers do not load: ${fault}`,
      },
    ]
  const ids = capabilities.map(({ id }) => id)
  const isInvalid = ({ ids: ownIds }: HandlerExport) =>
    !ids.some((id) => ownIds.includes(id)) && ownIds.some((id) => declaredIds.has(id))
  // The order of exports depends on how a module is loaded.
  const sorted = [...exports].sort((a, b) => byCodeUnit(a.name, b.name))
  return sorted.flatMap((one) => {
    // Its capability is reported.
    if (isInvalid(one)) return []
    const finding = checkExport(one, ids)
    return finding ? [{ ...finding, name: one.name }] : []
  })
}

function checkExport(
  { name, ids: ownIds, isFunction }: HandlerExport,
  ids: readonly string[],
): HandlerFinding | undefined {
  const id = ids.find((one) => ownIds.includes(one))
  if (id !== undefined)
    return isFunction
      ? undefined
      : {
          severity: 'warning',
          code: 'handler_invalid',
          message: `The export ${name} has the name of the capability ${id} and is not a function: it is not used.`,
        }
  if (!isFunction) return undefined
  const similar = ids.find((one) => fold(one) === fold(name))
  const advice =
    similar === undefined
      ? `The ids are ${quoteIds(ids)}.`
      : `Did you mean ${JSON.stringify(similar)}? Export it in an object under exactly this name.`
  return {
    severity: 'warning',
    code: 'handler_unmatched',
    message: `The handler ${name} is never called: no capability has this id. ${advice}`,
  }
}

const fold = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')

const maxListed = 10

const quoteIds = (ids: readonly string[]): string =>
  ids.length > maxListed
    ? `${ids.slice(0, maxListed).join(', ')} and ${ids.length - maxListed} more`
    : ids.join(', ')
