import { toPointer } from '../../../capability/contract.ts'
import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { isPlainObject } from '../../../capability/json.ts'
import { type LoadedModule, toModuleDiagnostics } from '../../loaded-module.ts'
import type { RoutingSettings } from '../router/routing-options.ts'
import type { Agent, Offer } from './agent.ts'
import { type AgentReading, readAgent, readOffers } from './read-agent.ts'
import { type Remote, type RemoteOptions, readRemoteAgent } from './remote-agent.ts'

export interface AgentsToRead extends Pick<RoutingSettings, 'remote' | 'declared'> {
  readonly source: string
  readonly modules: readonly LoadedModule[]
  /** Agents that were not configured but have announced themselves. */
  readonly discovered: readonly Remote[]
  readonly options: RemoteOptions
}

/** Every agent that can be asked, and everything there is to say about the others. */
export interface AgentsReading {
  readonly agents: readonly Agent[]
  /** Intents that are offered whether or not somebody serves them. */
  readonly offers: readonly Offer[]
  readonly diagnostics: readonly Diagnostic[]
}

export function readAgents({
  source,
  modules,
  remote,
  discovered,
  declared,
  options,
}: AgentsToRead): AgentsReading {
  const readings = [
    ...modules.flatMap((module) => readModule(module, source)),
    ...remote.map((candidate, index) => {
      const pointer = `/remote/${index}`
      return { ...readRemoteAgent(candidate, { source, pointer }, options), pointer }
    }),
  ]
  const expected = readOffers(declared, { source, pointer: '/declared' }, false)
  const found = readings.flatMap(({ agent, pointer }) => (agent ? [{ agent, pointer }] : []))
  const names = found.map(({ agent }) => agent.name)
  const twins = new Set(names.filter((name, index) => names.indexOf(name) < index))
  const collisions = found
    .filter(({ agent }) => twins.has(agent.name))
    .map(({ agent, pointer }) => ({
      code: 'name_collision',
      severity: 'error' as const,
      message: `There are several agents called ${agent.name}; none of them is asked.`,
      source,
      pointer,
    }))
  const strangers = discovered.map((candidate) => readStranger(candidate, new Set(names)))
  return {
    agents: [
      ...found.map(({ agent }) => agent).filter(({ name }) => !twins.has(name)),
      ...strangers.flatMap(({ agent }) => agent ?? []),
    ],
    offers: expected.offers,
    diagnostics: [
      ...readings.flatMap(({ diagnostics }) => diagnostics),
      ...expected.diagnostics,
      ...collisions,
      ...strangers.flatMap(({ diagnostics }) => diagnostics),
    ],
  }

  /** Whoever announces itself takes nobody's place. */
  function readStranger(candidate: Remote, taken: ReadonlySet<string>): AgentReading {
    const { name } = candidate
    const pointer = `/discovered/${name}`
    if (!taken.has(name)) return readRemoteAgent(candidate, { source, pointer }, options)
    const message = `${name} has announced itself, but there is an agent of that name: that one is asked.`
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
  const told = { diagnostics: toModuleDiagnostics(module, source), pointer }
  const found = agentsIn(module).map(({ candidate, path }) => {
    const pointer = toPointer(path)
    return { ...readAgent(candidate, { source, pointer }), pointer }
  })
  if (module.error !== undefined || file === '' || found.length > 0) return [told, ...found]
  const message = `${file} exports no agent.`
  const empty: Diagnostic = { code: 'module_empty', severity: 'error', message, source, pointer }
  return [told, { diagnostics: [empty], pointer }]
}

/** One agent, or an array of them, under any name; the same one counts once. */
function agentsIn({ file, exports }: LoadedModule) {
  const place = file === '' ? [] : [file]
  const seen = new Set<unknown>()
  return Object.entries(exports)
    .flatMap(([name, value]) =>
      Array.isArray(value)
        ? value.map((candidate, index) => ({
            candidate: candidate as unknown,
            path: [...place, name, String(index)],
          }))
        : [{ candidate: value, path: [...place, name] }],
    )
    .filter(({ candidate }) => {
      const isNew = isAgent(candidate) && !seen.has(candidate)
      seen.add(candidate)
      return isNew
    })
}

/** Something meant as an agent, right or wrong: wrong ones are said, other exports are not. */
const isAgent = (value: unknown): boolean =>
  isPlainObject(value) && ('handle' in value || 'capabilities' in value)
