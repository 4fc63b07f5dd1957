import type { Effects } from '../capability/effects.ts'

/** Semantics of HTTP methods (RFC 9110), in the order in which a path item lists them. */
// biome-ignore format: table
export const methodEffects = {
  get:     { writes: false, irreversible: false, repeatable: true,  reachesOut: true },
  head:    { writes: false, irreversible: false, repeatable: true,  reachesOut: true },
  options: { writes: false, irreversible: false, repeatable: true,  reachesOut: true },
  trace:   { writes: false, irreversible: false, repeatable: true,  reachesOut: true },
  post:    { writes: true,  irreversible: false, repeatable: false, reachesOut: true },
  put:     { writes: true,  irreversible: false, repeatable: true,  reachesOut: true },
  patch:   { writes: true,  irreversible: false, repeatable: false, reachesOut: true },
  delete:  { writes: true,  irreversible: true,  repeatable: true,  reachesOut: true },
} as const satisfies Record<string, Effects>

export type Method = keyof typeof methodEffects

export const isMethod = (key: string): key is Method => Object.hasOwn(methodEffects, key)
