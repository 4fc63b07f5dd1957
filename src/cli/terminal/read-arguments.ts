import { UsageError } from './usage-error.ts'

export function readAction<Action extends string>(
  actions: readonly Action[],
  word: string,
): Action {
  const action = actions.find((one) => one === word)
  if (action === undefined)
    throw new UsageError(`Unknown action "${word}". Available: ${actions.join(', ')}.`)
  return action
}

export function readState<State extends string>(
  states: readonly State[],
  word: string | undefined,
): State | undefined {
  const state = states.find((one) => one === word)
  if (word !== undefined && state === undefined)
    throw new UsageError(`Unknown state "${word}". Available: ${states.join(', ')}.`)
  return state
}

export function requireId(verb: string, action: string, id: string | undefined): string {
  if (id === undefined) throw new UsageError(`An id is required: drawbridge ${verb} ${action} ID`)
  return id
}
