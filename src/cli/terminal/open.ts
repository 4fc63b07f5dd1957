import type { Diagnostic } from '../../capability/diagnostic.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { UnsetVariables } from '../../runtime/config/unset-variables.ts'
import { StrayErrors } from '../../runtime/modules/stray-errors.ts'
import {
  type OpenedDrawbridge,
  type OpenOptions,
  openDrawbridge,
} from '../../runtime/open-drawbridge.ts'
import { logErrors } from './log-errors.ts'
import { createLogger, type Logger } from './logger.ts'
import { printMessage, toLines } from './print.ts'

export interface OpenFlags {
  readonly log?: Logger
  readonly fresh?: boolean
  readonly host?: string
  readonly store?: OpenOptions['store']
  readonly strayErrors?: StrayErrors
  readonly unset?: UnsetVariables
}

export function toOpenOptions(flags: OpenFlags): OpenOptions {
  const { log = createLogger(), store = 'create', ...rest } = flags
  return {
    ...rest,
    library: () => import('../../index.ts'),
    environment: process.env,
    store,
    onOperatorFailure: ({ id, capability, failure }) =>
      log.error({ call: id, capability, code: failure.code, cause: failure.cause }, 'call failed'),
    // Debug level: clients may send any number of malformed requests.
    onError: (error) => log.debug({ err: error }, 'transport'),
    onOperationalError: logErrors(log, Date.now),
  }
}

/** Opens a configuration with its store, to make calls. Errors outside of calls are logged from now on. */
export async function openBridge(what: string, flags: OpenFlags = {}): Promise<OpenedDrawbridge> {
  const log = flags.log ?? createLogger()
  const strayErrors = flags.strayErrors ?? new StrayErrors()
  const opened = await openDrawbridge(what, toOpenOptions({ ...flags, log, strayErrors }))
  const { bridge } = opened
  const diagnostics = strayErrors.toDiagnostics((thrown) => bridge.describe(thrown))
  for (const line of toLines(diagnostics)) printMessage(line)
  strayErrors.reportTo(({ thrown, event }) =>
    log.error({ cause: bridge.describe(thrown) }, `${event} outside of any call`),
  )
  return opened
}

/** Opens a configuration to inspect it: creates no store file. */
export const openWithoutStore = (what: string, unset?: UnsetVariables): Promise<OpenedDrawbridge> =>
  openBridge(what, { store: 'none', ...dropUndefined({ unset }) })

/** Collects variables that are not set, with `--env-optional`; without, they are errors. */
export const createUnset = (envOptional: boolean | undefined): UnsetVariables | undefined =>
  envOptional ? new UnsetVariables() : undefined

/** Says which variables are not set. */
export function printUnset(unset: UnsetVariables | undefined): void {
  for (const line of toLines(unset?.diagnostics ?? [])) printMessage(line)
}

/** As `openWithoutStore`, with the diagnostics of the modules that were loaded. */
export async function openToCheck(
  what: string,
  unset?: UnsetVariables,
): Promise<CheckedDrawbridge> {
  const strayErrors = new StrayErrors()
  const flags = { store: 'none', strayErrors, ...dropUndefined({ unset }) } as const
  const opened = await openDrawbridge(what, toOpenOptions(flags))
  await strayErrors.settle()
  const describe = (thrown: unknown) => opened.bridge.describe(thrown)
  return { ...opened, diagnostics: strayErrors.toDiagnostics(describe) }
}

export interface CheckedDrawbridge extends OpenedDrawbridge {
  readonly diagnostics: readonly Diagnostic[]
}
