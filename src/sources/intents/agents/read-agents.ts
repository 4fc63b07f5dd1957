import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { toPointer } from '../../../json/to-pointer.ts'
import { type LoadedModule, toModuleDiagnostics } from '../../loaded-module.ts'
import type { RoutingSettings } from '../router/routing-options.ts'
import type { Agent, Offer } from './agent.ts'
import type { RemoteAgentConfig } from './agent-shapes.ts'
import { type AgentReading, readAgent, readOffers } from './read-agent.ts'
import { type RemoteAgentOptions, readRemoteAgent } from './remote-agent.ts'

export interface ReadAgentsOptions extends Pick<RoutingSettings, 'remote' | 'declared'> {
  readonly source: string
  readonly modules: readonly LoadedModule[]
  /** Agents that are not configured but have announced themselves. */
  readonly discoveredAgents: readonly RemoteAgentConfig[]
  readonly options: RemoteAgentOptions
}

/** All usable agents, and diagnostics about the others. */
export interface AgentsReading {
  readonly agents: readonly Agent[]
  /** Intents that are listed even while no agent serves them. */
  readonly offers: readonly Offer[]
  readonly diagnostics: readonly Diagnostic[]
}

export function readAgents({
  source,
  modules,
  remote,
  discoveredAgents,
  declared,
  options,
}: ReadAgentsOptions): AgentsReading {
  const readings = [
    ...modules.flatMap((module) => readModule(module, source)),
    ...remote.map((candidate, index) => {
      const pointer = `/remote/${index}`
      return { ...readRemoteAgent(candidate, { source, pointer }, options), pointer }
    }),
  ]
  const declaredOffers = readOffers(declared, { source, pointer: '/declared' }, false)
  const placedAgents = readings.flatMap(({ agent, pointer }) => (agent ? [{ agent, pointer }] : []))
  const names = placedAgents.map(({ agent }) => agent.name)
  const duplicates = new Set(names.filter((name, index) => names.indexOf(name) < index))
  const collisions = placedAgents
    .filter(({ agent }) => duplicates.has(agent.name))
    .map(({ agent, pointer }) => ({
      code: 'name_collision',
      severity: 'error' as const,
      message: `Several agents are named ${agent.name}; all of them are ignored. Give each a unique name.`,
      source,
      pointer,
    }))
  const announcedReadings = discoveredAgents.map((candidate) =>
    readAnnounced(candidate, new Set(names)),
  )
  return {
    agents: [
      ...placedAgents.map(({ agent }) => agent).filter(({ name }) => !duplicates.has(name)),
      ...announcedReadings.flatMap(({ agent }) => agent ?? []),
    ],
    offers: declaredOffers.offers,
    diagnostics: [
      ...readings.flatMap(({ diagnostics }) => diagnostics),
      ...declaredOffers.diagnostics,
      ...collisions,
      ...announcedReadings.flatMap(({ diagnostics }) => diagnostics),
    ],
  }

  /** An announced agent never replaces a configured one. */
  function readAnnounced(
    candidate: RemoteAgentConfig,
    configuredNames: ReadonlySet<string>,
  ): AgentReading {
    const { name } = candidate
    const pointer = `/discovered/${name}`
    if (!configuredNames.has(name)) return readRemoteAgent(candidate, { source, pointer }, options)
    const message = `The announced agent ${name} is ignored: a configured agent has the same name.`
    const diagnostic: Diagnostic = {
      code: 'name_taken',
      severity: 'info',
      message,
      source,
      pointer,
    }
    return { diagnostics: [diagnostic] }
  }
}

interface PlacedReading {
  readonly agent?: Agent
  readonly diagnostics: readonly Diagnostic[]
  readonly pointer: string
}

function readModule(module: LoadedModule, source: string): PlacedReading[] {
  const { file } = module
  const pointer = toPointer(file === '' ? [] : [file])
  const moduleReading = { diagnostics: toModuleDiagnostics(module, source), pointer }
  const readings = findAgents(module).map(({ candidate, path }) => {
    const pointer = toPointer(path)
    return { ...readAgent(candidate, { source, pointer }, module.code), pointer }
  })
  if (module.error !== undefined || file === '' || readings.length > 0)
    return [moduleReading, ...readings]
  const message = `${file} exports no agent.`
  const diagnostic: Diagnostic = {
    code: 'module_empty',
    severity: 'error',
    message,
    source,
    pointer,
  }
  return [moduleReading, { diagnostics: [diagnostic], pointer }]
}

/** Exports that are an agent or an array of agents; an agent exported twice counts once. */
function findAgents({ file, exports }: LoadedModule) {
  const base = file === '' ? [] : [file]
  const seen = new Set<unknown>()
  return Object.entries(exports)
    .flatMap(([name, value]) =>
      Array.isArray(value)
        ? value.map((candidate, index) => ({
            candidate: candidate as unknown,
            path: [...base, name, String(index)],
          }))
        : [{ candidate: value, path: [...base, name] }],
    )
    .filter(({ candidate }) => {
      const isNew = isAgent(candidate) && !seen.has(candidate)
      seen.add(candidate)
      return isNew
    })
}

/** Looks like an agent, valid or not: invalid ones get a diagnostic, other exports are ignored. */
const isAgent = (value: unknown): boolean =>
  isPlainObject(value) && ('handle' in value || 'capabilities' in value)
