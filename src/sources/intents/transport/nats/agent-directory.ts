import { z } from 'zod'
import { byCodeUnit } from '../../../../json/by-code-unit.ts'
import { digestJson } from '../../../../json/digest-json.ts'
import { agentFields, capabilityShape } from '../../agents/agent-shapes.ts'
import type { Broadcasts } from './broadcasts.ts'
import type { NatsConnection } from './nats-connection.ts'

const text = z.string().min(1).max(128)

/** A node's announcement of itself. */
const announcementShape = z.object({
  node: agentFields.name,
  instance: text,
  /** Milliseconds since the epoch: if replicas differ, the latest one counts. */
  started: z.number(),
  /** Heartbeat interval in milliseconds. */
  every: z.number().int().min(20).max(60_000),
  leaving: z.boolean().default(false),
  // Routing between agents is decided by the router, not by an announcement.
  capabilities: z.array(capabilityShape.omit({ fallbackAgents: true, strategy: true })).max(500),
})

type Announcement = z.output<typeof announcementShape>

export interface AgentDirectoryOptions {
  readonly connection: NatsConnection
  readonly broadcasts: Broadcasts
  /** Subject on which nodes are asked to announce themselves. */
  readonly discoverySubject: string
  /** Name of this node: its own announcements are ignored. */
  readonly node: string
  /** Called when nodes or their capabilities have changed. */
  readonly onChange: () => void
  /** Called when the first replica of a node appears, and when the last one is gone. */
  readonly onPresence: (node: string, isPresent: boolean) => void
}

interface Replica {
  readonly announcement: Announcement
  readonly timer: NodeJS.Timeout
}

interface KnownNode {
  readonly replicas: Map<string /* instance */, Replica>
  /** The latest announcement; kept after the last replica is gone. */
  announcement: Announcement
  /** Digest of the announced capabilities. */
  digest: string
  removal?: NodeJS.Timeout
}

/** A replica that misses this many heartbeats is gone. */
const maxMissedHeartbeats = 3
/** How long a node without replicas keeps its intents in the list. */
const keepAbsentMs = 10 * 60_000
/** Limit for nodes, and for replicas per node. */
const maxEntries = 1000
/** How long to wait for the answers to a query. */
const queryTimeoutMs = 200

/** The nodes that have announced themselves, and their replicas. */
export class AgentDirectory {
  readonly #options: AgentDirectoryOptions
  readonly #nodes = new Map<string, KnownNode>()
  readonly #stops: (() => void)[]

  constructor(options: AgentDirectoryOptions) {
    this.#options = options
    const { connection, broadcasts } = options
    this.#stops = [
      broadcasts.subscribe((message) => this.#receive(message)),
      connection.watch({ onConnect: () => this.#sendQuery() }),
    ]
  }

  /** Asks all nodes to announce themselves, and resolves after they had time to do so. */
  async query(): Promise<void> {
    try {
      await this.#options.connection.connect()
      this.#sendQuery()
      await new Promise((resolve) => setTimeout(resolve, queryTimeoutMs))
    } catch {
      // Not connected: `onConnect` sends the query after the connection is established.
    }
  }

  /** Sorted by name. */
  get agents(): readonly Pick<Announcement, 'node' | 'capabilities'>[] {
    return [...this.#nodes.values()]
      .map(({ announcement: { node, capabilities } }) => ({ node, capabilities }))
      .sort((a, b) => byCodeUnit(a.node, b.node))
  }

  close(): void {
    for (const stop of this.#stops) stop()
    for (const { replicas, removal } of this.#nodes.values()) {
      clearTimeout(removal)
      for (const { timer } of replicas.values()) clearTimeout(timer)
    }
  }

  #sendQuery(): void {
    const { connection, discoverySubject } = this.#options
    if (connection.connected) connection.send({ subject: discoverySubject, body: '' })
  }

  #receive(message: unknown): void {
    const parsed = announcementShape.safeParse(message)
    if (!parsed.success || parsed.data.node === this.#options.node) return
    const { node, instance, leaving } = parsed.data
    if (leaving) return this.#removeReplica(node, instance)
    this.#addReplica(parsed.data)
  }

  #addReplica(announcement: Announcement): void {
    const { node: name, instance, every } = announcement
    if (!this.#nodes.has(name) && this.#nodes.size >= maxEntries) return
    const node: KnownNode = this.#nodes.get(name) ?? {
      replicas: new Map(),
      announcement,
      digest: '',
    }
    this.#nodes.set(name, node)
    clearTimeout(node.removal)
    const { replicas } = node
    if (!replicas.has(instance) && replicas.size >= maxEntries) return
    clearTimeout(replicas.get(instance)?.timer)
    const expire = () => this.#removeReplica(name, instance)
    const timer = setTimeout(expire, every * maxMissedHeartbeats).unref()
    replicas.set(instance, { announcement, timer })
    if (replicas.size === 1) this.#options.onPresence(name, true)
    this.#updateCapabilities(node)
  }

  #removeReplica(name: string, instance: string): void {
    const node = this.#nodes.get(name)
    const replica = node?.replicas.get(instance)
    if (!node || !replica) return
    clearTimeout(replica.timer)
    node.replicas.delete(instance)
    if (node.replicas.size > 0) return this.#updateCapabilities(node)
    this.#options.onPresence(name, false)
    node.removal = setTimeout(() => this.#removeNode(name), keepAbsentMs).unref()
  }

  #removeNode(name: string): void {
    this.#nodes.delete(name)
    this.#options.onChange()
  }

  #updateCapabilities(node: KnownNode): void {
    const announcements = [...node.replicas.values()].map(({ announcement }) => announcement)
    const latest = announcements.sort(byStart).at(-1)
    if (!latest) return
    const digest = digestJson(latest.capabilities)
    if (digest === node.digest) return
    node.announcement = latest
    node.digest = digest
    this.#options.onChange()
  }
}

const byStart = (a: Announcement, b: Announcement): number =>
  a.started - b.started || byCodeUnit(a.instance, b.instance)
