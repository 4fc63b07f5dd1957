import { z } from 'zod'
import type { Health, HealthChange } from '../../router/health.ts'
import type { Broadcasts } from './broadcasts.ts'

/** Health changes on the wire. Routers of other versions send and read these words. */
const wireWords = { unhealthy: 'ill', healthy: 'well' } as const

/** A health change as routers broadcast it. */
const healthShape = z.object({
  agent: z.string().min(1).max(128),
  /** Instance of the router that found it. */
  by: z.string().max(128),
  turn: z.enum(wireWords),
})

export interface SharedHealthOptions {
  readonly broadcasts: Broadcasts
  readonly health: Health
  readonly instance: string
  /** Other routers know the agent by the same name. */
  readonly isShared: (agent: string) => boolean
}

/** Broadcasts the health changes found here, and applies those of other routers. */
export function shareHealth({
  broadcasts,
  health,
  instance,
  isShared,
}: SharedHealthOptions): () => void {
  const stopPublishing = health.watch((agent: string, change: HealthChange) => {
    if (isShared(agent)) broadcasts.publish({ agent, turn: wireWords[change], by: instance })
  })
  const stopListening = broadcasts.subscribe((message) => {
    const parsed = healthShape.safeParse(message)
    if (!parsed.success) return
    const { agent, turn, by } = parsed.data
    if (by === instance || !isShared(agent)) return
    health.applyRemote(agent, turn === wireWords.healthy ? 'healthy' : 'unhealthy')
  })
  return () => {
    stopPublishing()
    stopListening()
  }
}
