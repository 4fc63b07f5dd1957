import { z } from 'zod'
import type { Call } from '../../capability/call.ts'
import type { Capability } from '../../capability/capability.ts'
import { done } from '../../capability/outcome.ts'
import { readContract } from '../../contracts/read-contract.ts'

/** Values that fit what was typed so far; `others` are the arguments already filled in. */
export type Complete = (
  value: string,
  others: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>

const request = z.object({
  argument: z.string(),
  value: z.string(),
  others: z.record(z.string(), z.string()),
})

/** Completing is a call like any other: it passes the same pipeline, with the same permissions. */
export function toCompletion(
  base: Capability,
  completers: readonly (readonly [string, Complete | undefined])[],
): Capability | undefined {
  const known = new Map(completers.filter(([, complete]) => complete !== undefined))
  if (known.size === 0) return undefined
  const input = readContract(request, 'input')
  if ('fault' in input) throw new Error(input.fault)
  const { output, ...rest } = base
  return Object.freeze({
    ...rest,
    input: input.contract,
    invoke: async (call: Call) => {
      const { argument, value, others } = call.input as z.output<typeof request>
      return done((await known.get(argument)?.(value, others)) ?? [])
    },
  })
}
