import { UsageError } from './usage-error.ts'

export function readAction<Action extends string>(
  actions: readonly Action[],
  said: string,
): Action {
  const action = actions.find((one) => one === said)
  if (action === undefined)
    throw new UsageError(`There is no "${said}". There is: ${actions.join(', ')}`)
  return action
}

export function readState<State extends string>(
  states: readonly State[],
  said: string | undefined,
): State | undefined {
  const state = states.find((one) => one === said)
  if (said !== undefined && state === undefined)
    throw new UsageError(`There is no state "${said}". There is: ${states.join(', ')}`)
  return state
}

export function needId(verb: string, action: string, id: string | undefined): string {
  if (id === undefined) throw new UsageError(`Say which one: drawbridge ${verb} ${action} ID`)
  return id
}
