import type { Effects } from '../../capability/effects.ts'
import type { ServiceAction } from './service.ts'

/** `dynamic`: the list follows the service. `stable`: what was ever declared stays listed. */
export const visibilities = ['dynamic', 'stable'] as const
/** How what a service shows of itself can be read. */
export const stateExposures = ['resources', 'tool', 'both', 'none'] as const
/** `tools`: actions of linked services are served too. `out-of-band`: links are only named. */
export const linkExposures = ['tools', 'out-of-band'] as const
/** What a string means that an action answers with; by the shape of the action where not said. */
export const stringMeanings = ['error', 'data'] as const

export interface ServiceOptions {
  /** Names it in diagnostics and in `drawbridge://<id>/…`. */
  readonly id?: string
  readonly visibility?: (typeof visibilities)[number]
  readonly states?: (typeof stateExposures)[number]
  readonly links?: (typeof linkExposures)[number]
  readonly strings?: (typeof stringMeanings)[number]
  /** Milliseconds to wait for a first word of the service before it is served without. */
  readonly readiness?: number
  /** How many links deep its graph is followed. */
  readonly depth?: number
  /** By action, `link.action` for a linked one, `*` for all others: what it does to the world. */
  readonly effects?: Readonly<Record<string, Partial<Effects>>>
  /** Actions it may offer at some time, for `visibility: stable`. An `interface` of `create` will do. */
  readonly declares?: Readonly<Record<string, ServiceDeclaration>>
  /** Why an action is not available now, where somebody knows. */
  readonly reason?: (action: string) => string | undefined
}

export interface ServiceDeclaration extends Omit<ServiceAction, 'execute'> {
  /** Entries of an `interface` that are no actions are passed over. */
  readonly type?: string
}

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
