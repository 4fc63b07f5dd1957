import { derive, fromObservable, type Service } from 'drawbridge-mcp'
import { interval } from 'rxjs'

/** Anything with `subscribe` as a service. This one is silent at first, so it begins with a value. */
const ticks = fromObservable(interval(1000), -1)

export default {
  states: derive(ticks, (tick) => ({ seconds: { schema: { type: 'integer' }, value: tick + 1 } })),
} satisfies Service
