/** A seeded pseudo-random number generator. */
export interface Random {
  /** Returns an integer from 0 to `bound` - 1. */
  below(bound: number): number
  /** Returns true with this probability. */
  chance(share: number): boolean
  pick<T>(choices: readonly T[]): T
}

/** Mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (bound: number) => Math.floor(next() * bound)
  return {
    below,
    chance: (share) => next() < share,
    pick: (choices) => choices[below(choices.length)] as (typeof choices)[number],
  }
}

/** `FUZZ_SEED=123 npx vitest run test/fuzz` repeats a run: every message depends only on the seed. */
export const fuzzSeed = Number(process.env.FUZZ_SEED ?? 20260728)
