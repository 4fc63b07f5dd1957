import { z } from 'zod'
import type { Health, HealthChange } from '../../router/health.ts'
import type { Broadcasts } from './broadcasts.ts'

/** A health change as routers broadcast it. */
const healthShape = z.object({
  agent: z.string().min(1).max(128),
  /** Instance of the router that found it. */
  by: z.string().max(128),
  turn: z.enum(['ill', 'well']),
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
    if (isShared(agent)) broadcasts.publish({ agent, turn: change, by: instance })
  })
  const stopListening = broadcasts.subscribe((message) => {
    const parsed = healthShape.safeParse(message)
    if (!parsed.success) return
    const { agent, turn, by } = parsed.data
    if (by !== instance && isShared(agent)) health.applyRemote(agent, turn)
  })
  return () => {
    stopPublishing()
    stopListening()
  }
}
