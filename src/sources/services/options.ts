import type { Effects } from '../../capability/effects.ts'
import type { ServiceAction } from './service.ts'

/** `dynamic`: the tool list follows the service. `stable`: every action ever declared stays listed. */
export const visibilities = ['dynamic', 'stable'] as const
/** How states are exposed: as resources, through the tool `get_state`, both, or not at all. */
export const stateExposures = ['resources', 'tool', 'both', 'none'] as const
/** `tools`: actions of linked services are served too. `out-of-band`: links are only listed. */
export const linkExposures = ['tools', 'out-of-band'] as const
/** The meaning of a string that an action returns. */
export const stringMeanings = ['error', 'data'] as const

/** Options of `serviceSource`, and of `service:` in `drawbridge.yaml`. */
export interface ServiceOptions {
  /** Names the source in diagnostics and in `drawbridge://<id>/…`. Default: `serviceName`. */
  readonly id?: string
  /**
   * `dynamic`: the tool list contains the actions that are available now. `stable`: it contains every
   * declared action, and an unavailable one answers that it is. Default: `dynamic`.
   */
  readonly visibility?: (typeof visibilities)[number]
  /** Expose states as `resources`, through the tool `get_state`, `both` (default) or `none`. */
  readonly states?: (typeof stateExposures)[number]
  /** Serve actions of linked services as `tools` (default), or list links `out-of-band` only. */
  readonly links?: (typeof linkExposures)[number]
  /**
   * Treat a returned string as an `error` message or as `data`. Default: `data` for actions with
   * `parameters`, `error` for others.
   */
  readonly strings?: (typeof stringMeanings)[number]
  /** Milliseconds to wait for the first value of every observable. Default: 1,000. */
  readonly readiness?: number
  /** The maximum number of links from the service to a followed one. Default: 5. */
  readonly depth?: number
  /** Effects by action name; `link.action` for a linked service, `*` for the defaults of all. */
  readonly effects?: Readonly<Record<string, Partial<Effects>>>
  /**
   * Actions that may become available, for `visibility: stable`. Accepts the `interface` of
   * `AgenticService.create` of `@adobe/data`.
   */
  readonly declares?: Readonly<Record<string, ServiceDeclaration>>
  /** Explains why an action is not available now, for `visibility: stable`. */
  readonly reason?: (action: string) => string | undefined
}

export const serviceOptionNames = {
  id: true,
  visibility: true,
  states: true,
  links: true,
  strings: true,
  readiness: true,
  depth: true,
  effects: true,
  declares: true,
  reason: true,
} satisfies Record<keyof ServiceOptions, true>

/** An action that may become available. */
export interface ServiceDeclaration extends Omit<ServiceAction, 'execute'> {
  /** Entries with another type than `action` are ignored. */
  readonly type?: string
}

/** Options with their defaults filled in. */
export interface ServiceSettings extends Required<Omit<ServiceOptions, 'strings' | 'reason'>> {
  readonly strings: ServiceOptions['strings'] | undefined
  readonly reason: (action: string) => string | undefined
}

export const toServiceSettings = (options: ServiceOptions, id: string): ServiceSettings => ({
  id: options.id ?? id,
  visibility: options.visibility ?? 'dynamic',
  states: options.states ?? 'both',
  links: options.links ?? 'tools',
  strings: options.strings,
  readiness: options.readiness ?? 1000,
  depth: options.depth ?? 5,
  effects: options.effects ?? {},
  declares: options.declares ?? {},
  reason: options.reason ?? (() => undefined),
})
