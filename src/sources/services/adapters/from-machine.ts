import type { Observe, Service, ServiceAction } from '../service.ts'
import { derive } from './derive.ts'

/** What is needed of a running XState v5 machine. */
export interface Machine<Snapshot extends MachineSnapshot> {
  getSnapshot(): Snapshot
  subscribe(listener: (snapshot: Snapshot) => void): { unsubscribe(): void }
  send(event: never): void
}

export interface MachineSnapshot {
  readonly value: unknown
  readonly context: unknown
  can(event: never): boolean
}

export interface MachineOptions<Snapshot> {
  /** XState's `getNextTransitions`: the events that mean something in a state. */
  readonly transitions: (snapshot: Snapshot) => readonly Transition[]
  /** What a machine does not know of its events: words for the model, and what they carry. */
  readonly events?: Readonly<Record<string, Pick<ServiceAction, 'description' | 'schema'>>>
}

interface Transition {
  readonly eventType: string
  readonly description?: string | undefined
}

/** A state machine as a service: its events are actions, its guards decide which are offered. */
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
          .filter(({ eventType }) => isOwn(eventType))
          // A guard may look at what an event carries: that can only be known when it is sent.
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

const stateSchema = { title: 'State', description: 'The state the machine is in.' }
const contextSchema = { title: 'Context', description: 'What the machine remembers.' }

const can = (snapshot: MachineSnapshot, type: string): boolean => snapshot.can({ type } as never)

/** Not those that the machine sends to itself, and not "any other". */
const isOwn = (type: string): boolean => type !== '' && type !== '*' && !type.startsWith('xstate.')
