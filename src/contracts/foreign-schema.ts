/**
 * The library of a schema object, when it occurs where JSON Schema is expected: as JSON it would accept
 * every value. `undefined` for JSON; a property may have the name of a marker.
 */
export function findForeignSchema(value: unknown): string | undefined {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return undefined
  const { '~standard': standard, _zod, _def, safeParse } = value as Marked
  if (typeof _zod?.run === 'function') return 'Zod 4'
  if (typeof _def === 'object' && typeof safeParse === 'function') return 'Zod 3'
  return typeof standard?.validate === 'function' ? String(standard.vendor) : undefined
}

interface Marked {
  readonly '~standard'?: { readonly validate?: unknown; readonly vendor?: unknown }
  readonly _zod?: { readonly run?: unknown }
  readonly _def?: unknown
  readonly safeParse?: unknown
}
