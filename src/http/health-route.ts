import type { Gate } from './gate.ts'

/** `/health`, for load balancers and process supervisors. */
export const healthRoute =
  (health: () => object): Gate =>
  ({ path }, reply) => {
    if (path !== '/health') return 'pass'
    reply.answer(200, JSON.stringify(health()))
    return 'answered'
  }
