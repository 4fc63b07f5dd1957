import { z } from 'zod'
import type { Call } from '../../capability/call.ts'
import type { Capability } from '../../capability/capability.ts'
import { isFault } from '../../capability/fault.ts'
import { done } from '../../capability/outcome.ts'
import { readContract } from '../../contracts/read-contract.ts'

/** Suggests values that start with or match `value`; `others` are the arguments filled in so far. */
export type Completer = (
  value: string,
  others: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>

const completionRequest = z.object({
  argument: z.string(),
  value: z.string(),
  others: z.record(z.string(), z.string()),
})

/** A completion is governed like a call: the same pipeline, with the permissions of `base`. */
export function toCompletion(
  base: Capability,
  completers: readonly (readonly [string, Completer | undefined])[],
): Capability | undefined {
  const completersByName = new Map(completers.filter(([, complete]) => complete !== undefined))
  if (completersByName.size === 0) return undefined
  const input = readContract(completionRequest, 'input')
  if (isFault(input)) throw new Error(input.fault)
  const { output, ...rest } = base
  return Object.freeze({
    ...rest,
    input: input.contract,
    invoke: async (call: Call) => {
      const { argument, value, others } = call.input as z.output<typeof completionRequest>
      return done((await completersByName.get(argument)?.(value, others)) ?? [])
    },
  })
}
