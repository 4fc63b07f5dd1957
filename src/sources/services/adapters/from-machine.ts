import type { Observe, Service, ServiceAction } from '../service.ts'
import { derive } from './derive.ts'

/** The part of a running XState v5 actor that is used here. */
export interface Machine<Snapshot extends MachineSnapshot> {
  /** Returns the current snapshot. */
  getSnapshot(): Snapshot
  /** Calls `listener` after every transition. */
  subscribe(listener: (snapshot: Snapshot) => void): { unsubscribe(): void }
  /** Sends an event. */
  send(event: never): void
}

/** The part of an XState v5 snapshot that is used here. */
export interface MachineSnapshot {
  /** The name of the current state; an object for nested states. */
  readonly value: unknown
  /** The extended state of the machine. */
  readonly context: unknown
  /** Returns `true` if the event would cause a transition. */
  can(event: never): boolean
}

/** Options of `fromMachine`. */
export interface MachineOptions<Snapshot> {
  /** Lists the transitions out of a snapshot: pass `getNextTransitions` of XState. */
  readonly transitions: (snapshot: Snapshot) => readonly MachineTransition[]
  /** Descriptions and payload schemas by event type, which a machine does not have. */
  readonly events?: Readonly<Record<string, Pick<ServiceAction, 'description' | 'schema'>>>
}

/** The part of an XState v5 transition that is used here. */
export interface MachineTransition {
  /** The type of the event that causes it. */
  readonly eventType: string
  /** Description from the definition of the machine. */
  readonly description?: string | undefined
}

/**
 * Makes a service of a running XState machine: events are actions, and guards decide which are
 * available. An event with a schema is always offered, because its guard may depend on the payload.
 *
 * @example
 * ```ts
 * import { fromMachine } from 'drawbridge-mcp'
 * import { createActor, createMachine, getNextTransitions } from 'xstate'
 *
 * const states = { open: { on: { close: 'shut' } }, shut: { on: { open: 'open' } } }
 * const door = createActor(createMachine({ initial: 'shut', states })).start()
 * export default fromMachine(door, {
 *   transitions: getNextTransitions,
 *   events: { open: { description: 'Opens the door.' } },
 * })
 * ```
 */
export function fromMachine<Snapshot extends MachineSnapshot>(
  machine: Machine<Snapshot>,
  { transitions, events = {} }: MachineOptions<Snapshot>,
): Service {
  const observe: Observe<Snapshot> = (notify) => {
    notify(machine.getSnapshot())
    const subscription = machine.subscribe(notify)
    return () => subscription.unsubscribe()
  }
  return {
    states: derive(observe, ({ value, context }) => ({
      state: { schema: stateSchema, value },
      context: { schema: contextSchema, value: context },
    })),
    actions: derive(observe, (snapshot) =>
      Object.fromEntries(
        transitions(snapshot)
          .filter(({ eventType }) => isExternalEvent(eventType))
          // Guards of events with a payload are evaluated when the event is sent.
          .filter(({ eventType }) => events[eventType]?.schema || can(snapshot, eventType))
          .map(({ eventType, description }) => [
            eventType,
            { description: description ?? `Sends ${eventType}.`, ...events[eventType] },
          ]),
      ),
    ),
    execute: async (type, input) => {
      const event = { ...(input as object), type } as never
      const snapshot = machine.getSnapshot()
      if (!snapshot.can(event))
        return `${type} is not possible with these arguments while the state is ${JSON.stringify(snapshot.value)}.`
      machine.send(event)
      return undefined
    },
  }
}

const stateSchema = { title: 'State', description: 'The current state of the machine.' }
const contextSchema = { title: 'Context', description: 'The extended state of the machine.' }

const can = (snapshot: MachineSnapshot, type: string): boolean => snapshot.can({ type } as never)

/** Excludes events of XState itself, eventless transitions (`''`) and the wildcard `*`. */
const isExternalEvent = (type: string): boolean =>
  type !== '' && type !== '*' && !type.startsWith('xstate.')
