import type { LoadedModule } from '../loaded-module.ts'
import type { AgentDefinition, CapabilityDefinition, RoutingMode } from './agents/agent.ts'
import type { RoutingHook } from './router/hooks.ts'

// Written out instead of inferred from `router/routing-options.ts`: comments on a schema do not reach an
// editor. `test/definitions/types.test.ts` keeps both the same.

/** Options of `intentSource`: agents, and how requests are routed to them. */
export interface IntentOptions extends RoutingOptions {
  /** Local agents, or a function that loads the modules exporting them. Default: none. */
  readonly agents?: readonly AgentDefinition[] | AgentModules
  /** Observers of routing; they cannot change it. Default: none. */
  readonly hooks?: readonly RoutingHook[]
  /** Name of the source in diagnostics and in the log. Default: `intents`. */
  readonly id?: string
}

/** Loads the modules that export agents; called once. */
export type AgentModules = () => Promise<readonly LoadedModule[]>

/** Routing, as under `intents` in `drawbridge.yaml`. */
export interface RoutingOptions {
  /** Agents that run in other processes. Default: none. */
  readonly remote?: readonly RemoteAgentDefinition[]
  /** Intents that are listed even while no agent serves them. Default: none. */
  readonly declared?: readonly CapabilityDefinition[]
  /** How agents are chosen, for intents that do not say. Default: `fallback`. */
  readonly strategy?: RoutingMode
  /** Milliseconds for the whole call, with all attempts and retries. Default: 30,000. */
  readonly timeout?: number
  /** Milliseconds for one attempt at one agent, unless the agent has its own `timeout`. Default: 10,000. */
  readonly attemptTimeout?: number
  /** Further attempts at the same agent before the next one is asked, 0 to 10. Default: 0. */
  readonly retries?: number
  /** Milliseconds before the first retry, doubled for each later one, minus jitter. Default: 100. */
  readonly backoff?: number
  /** Circuit breaker: when a failing agent is skipped, and for how long. */
  readonly ejection?: EjectionOptions
  /** Name of this node to other runtimes; replicas share it. Default: `drawbridge`. */
  readonly node?: string
  /**
   * Keys by id, for `seal` and `logKey`: 32 bytes as text, hexadecimal or base64, or longer text
   * (HKDF). Keep an old key while anything sealed with it exists. Default: none.
   */
  readonly keys?: Readonly<Record<string, string>>
  /** Id of the key that encrypts payloads in the execution log. Default: payloads are not encrypted. */
  readonly logKey?: string
  /** Accepts requests from other runtimes. Default: none are accepted. */
  readonly serve?: ServeOptions
  /** Finds agents that announce themselves over NATS. Default: none are looked for. */
  readonly discover?: DiscoverOptions
}

/** The circuit breaker of each agent. */
export interface EjectionOptions {
  /** Consecutive failures after which an agent is skipped. Default: 5. */
  readonly failures?: number
  /** Seconds of the first ejection; each consecutive one is longer by as much, up to 300. Default: 30. */
  readonly seconds?: number
}

/** An agent that runs in another process, and where to reach it. */
export interface RemoteAgentDefinition {
  /** Unique among all agents. */
  readonly name: string
  /** The intents this agent serves; at least one. */
  readonly capabilities: readonly CapabilityDefinition[]
  /** Version of the agent, for the log. Default: `1.0`. */
  readonly version?: string
  /** Agents with a lower number are asked first. Default: 100. */
  readonly priority?: number
  /** Maximum number of concurrent calls. Default: 1000. */
  readonly concurrency?: number
  /** Milliseconds for one attempt. Default: the source's `attemptTimeout`. */
  readonly timeout?: number
  /** `https://…`, `http://…` on this machine, or `nats://host:port/prefix` (`tls://…`). */
  readonly url: string
  /** Credentials for the NATS server; the agent itself checks `token`. */
  readonly access?: NatsAccess
  /** Bearer token for the agent. Default: none is sent. */
  readonly token?: string
  /** Seals requests and requires sealed responses. Default: neither is sealed. */
  readonly seal?: SealSettings
  /** Node name of the remote runtime. Default: the name of the agent. */
  readonly node?: string
}

/** Endpoints for other runtimes; `path`, `nats` or both. */
export interface ServeOptions {
  /** Path that accepts frames over HTTP, such as `/intents`. */
  readonly path?: string
  /** NATS server whose subjects are served. */
  readonly nats?: NatsServeOptions
  /** Accepts sealed requests only. Default: unsealed ones are accepted. */
  readonly seal?: SealSettings
}

/** A NATS server. */
export interface NatsOptions {
  /** `nats://host:port/prefix`, or `tls://…`. The prefix of all subjects is `intents` by default. */
  readonly url: string
  /** Credentials for the server. Default: none. */
  readonly access?: NatsAccess
}

/** Serving over NATS. */
export interface NatsServeOptions extends NatsOptions {
  /** Milliseconds between two announcements, 20 to 60,000. Three missed: absent. Default: 5,000. */
  readonly heartbeat?: number
}

/** Discovery over NATS. */
export interface DiscoverOptions extends NatsOptions {
  /** Bearer token for the discovered agents. Default: none is sent. */
  readonly token?: string
  /** Accepts only announcements that are sealed with a key, and seals all requests. */
  readonly seal?: Pick<SealSettings, 'key'>
}

/** Credentials for a NATS server: `user` and `password`, or one of the others. */
export interface NatsAccess {
  /** Token of the server. */
  readonly token?: string
  /** User name; needs `password`. */
  readonly user?: string
  /** Password of the user. */
  readonly password?: string
  /** Seed of an nkey. */
  readonly nkey?: string
  /** Content of a `.creds` file. */
  readonly credentials?: string
}

/** How messages are encrypted and authenticated. */
export interface SealSettings {
  /** `v2` binds message and context together; `v1` is for runtimes that know no other. Default: `v2`. */
  readonly format?: 'v2' | 'v1'
  /** Id of the key in `keys`. */
  readonly key: string
}
