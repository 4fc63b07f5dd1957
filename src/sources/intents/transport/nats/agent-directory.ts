import { z } from 'zod'
import { digestJson } from '../../../../capability/digest-json.ts'
import { byCodePoint } from '../../../../capability/json.ts'
import { agentFields, capabilityShape } from '../../agents/read-agent.ts'
import type { Broadcasts } from './broadcasts.ts'
import type { NatsConnection } from './nats-connection.ts'

const text = z.string().min(1).max(128)

/** What a node says of itself. */
const announcementShape = z.object({
  node: agentFields.name,
  instance: text,
  /** Milliseconds since the epoch: of replicas that differ, the latest is believed. */
  started: z.number(),
  every: z.number().int().min(20).max(60_000),
  leaving: z.boolean().default(false),
  // How others are asked is not for it to say.
  capabilities: z.array(capabilityShape.omit({ fallbackAgents: true, strategy: true })).max(500),
})

type Announcement = z.output<typeof announcementShape>

export interface AgentDirectoryOptions {
  readonly line: NatsConnection
  readonly notices: Broadcasts
  readonly rollCall: string
  /** This node itself is not news to it. */
  readonly node: string
  /** What can be asked is different now. */
  readonly onChange: () => void
  /** Whether anybody is left who could answer. */
  readonly onPresence: (node: string, present: boolean) => void
}

interface Member {
  readonly announcement: Announcement
  readonly timer: NodeJS.Timeout
}

interface Known {
  readonly members: Map<string, Member>
  /** What it said last, also when nobody is left. */
  announcement: Announcement
  digest: string
  forgetting?: NodeJS.Timeout
}

/** So many announcements may be missed. */
const missed = 3
/** Milliseconds for which an agent without replicas keeps its intents in the list. */
const remembered = 10 * 60_000
const most = 1000
/** Milliseconds in which those who are there have answered a roll call. */
const rollCallTakes = 200

/** Who is there, from what everybody says of themselves. */
export class AgentDirectory {
  readonly #options: AgentDirectoryOptions
  readonly #known = new Map<string, Known>()
  readonly #stops: (() => void)[]

  constructor(options: AgentDirectoryOptions) {
    this.#options = options
    const { line, notices } = options
    this.#stops = [
      notices.subscribe((notice) => this.#hear(notice)),
      line.watch({ up: () => this.#callRoll() }),
    ]
  }

  /** Settles when whoever is there had time to say so. */
  async gather(): Promise<void> {
    try {
      await this.#options.line.reach()
      this.#callRoll()
      await new Promise((resolve) => setTimeout(resolve, rollCallTakes))
    } catch {
      // Nobody can be heard: they are when the line is back.
    }
  }

  /** In the order of their names. */
  get agents(): readonly Pick<Announcement, 'node' | 'capabilities'>[] {
    return [...this.#known.values()]
      .map(({ announcement: { node, capabilities } }) => ({ node, capabilities }))
      .sort((a, b) => byCodePoint(a.node, b.node))
  }

  close(): void {
    for (const stop of this.#stops) stop()
    for (const { members, forgetting } of this.#known.values()) {
      clearTimeout(forgetting)
      for (const { timer } of members.values()) clearTimeout(timer)
    }
  }

  #callRoll(): void {
    const { line, rollCall } = this.#options
    if (line.connected) line.send({ subject: rollCall, body: '' })
  }

  #hear(notice: unknown): void {
    const parsed = announcementShape.safeParse(notice)
    if (!parsed.success || parsed.data.node === this.#options.node) return
    const { node, instance, leaving } = parsed.data
    if (leaving) return this.#miss(node, instance)
    this.#note(parsed.data)
  }

  #note(announcement: Announcement): void {
    const { node, instance, every } = announcement
    if (!this.#known.has(node) && this.#known.size >= most) return
    const known: Known = this.#known.get(node) ?? { members: new Map(), announcement, digest: '' }
    this.#known.set(node, known)
    clearTimeout(known.forgetting)
    if (!known.members.has(instance) && known.members.size >= most) return
    clearTimeout(known.members.get(instance)?.timer)
    const timer = setTimeout(() => this.#miss(node, instance), every * missed).unref()
    known.members.set(instance, { announcement, timer })
    if (known.members.size === 1) this.#options.onPresence(node, true)
    this.#settle(known)
  }

  #miss(node: string, instance: string): void {
    const known = this.#known.get(node)
    const member = known?.members.get(instance)
    if (!known || !member) return
    clearTimeout(member.timer)
    known.members.delete(instance)
    if (known.members.size > 0) return this.#settle(known)
    this.#options.onPresence(node, false)
    known.forgetting = setTimeout(() => this.#forget(node), remembered).unref()
  }

  #forget(node: string): void {
    this.#known.delete(node)
    this.#options.onChange()
  }

  #settle(known: Known): void {
    const announcements = [...known.members.values()].map(({ announcement }) => announcement)
    const latest = announcements.sort(byAge).at(-1)
    if (!latest) return
    const digest = digestJson(latest.capabilities)
    if (digest === known.digest) return
    known.announcement = latest
    known.digest = digest
    this.#options.onChange()
  }
}

const byAge = (a: Announcement, b: Announcement): number =>
  a.started - b.started || byCodePoint(a.instance, b.instance)
