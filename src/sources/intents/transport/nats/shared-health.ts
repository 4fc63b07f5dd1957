import { z } from 'zod'
import type { Health, Turn } from '../../router/health.ts'
import type { Broadcasts } from './broadcasts.ts'

/** What a router tells the others of an agent. */
const newsShape = z.object({
  agent: z.string().min(1).max(128),
  /** Which router says so. */
  by: z.string().max(128),
  turn: z.enum(['ill', 'well']),
})

export interface SharedHealthOptions {
  readonly notices: Broadcasts
  readonly health: Health
  readonly instance: string
  /** Whether an agent is one that the others know by the same name. */
  readonly isShared: (agent: string) => boolean
}

/** What one router has found out about an agent, the others need not find out again. */
export function shareHealth({
  notices,
  health,
  instance,
  isShared,
}: SharedHealthOptions): () => void {
  const stopTelling = health.watch((agent: string, turn: Turn) => {
    if (isShared(agent)) notices.tell({ agent, turn, by: instance })
  })
  const stopListening = notices.subscribe((notice) => {
    const parsed = newsShape.safeParse(notice)
    if (!parsed.success) return
    const { agent, turn, by } = parsed.data
    if (by !== instance && isShared(agent)) health.hear(agent, turn)
  })
  return () => {
    stopTelling()
    stopListening()
  }
}
