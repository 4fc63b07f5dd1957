import type { z } from 'zod'

export type Zod = z.core.$ZodType

/** The definition of a schema, whose members depend on its `type`. */
export type Def = z.core.$ZodTypes['_zod']['def']

export const defOf = (schema: Zod): Def => (schema as z.core.$ZodTypes)._zod.def

/** Members of the definition that replace the schemas inside it, each read only when Zod needs it. */
export type Replacement = Record<string, () => unknown>

/**
 * The same definition with other schemas inside. Of a pipe only the side that meets JSON changes: the
 * other side gets what the code of its schema made.
 */
export function replaceChildren(
  schema: Zod,
  direction: 'input' | 'output',
  replace: (child: Zod) => Zod,
): Replacement {
  const def = defOf(schema)
  switch (def.type) {
    case 'object': {
      const { catchall } = def
      return {
        shape: () =>
          Object.fromEntries(
            Reflect.ownKeys(def.shape).map((key) => [
              key,
              replace(def.shape[key as string] as Zod),
            ]),
          ),
        ...(catchall && { catchall: () => replace(catchall) }),
      }
    }
    case 'array':
      return { element: () => replace(def.element) }
    case 'union':
      return {
        options: () => def.options.map(replace),
        // Zod finds the member by the value, which in JSON is not a bigint: all members are tried.
        ...(isDiscriminated(def) && {
          unionFallback: () => def.unionFallback || hasBigintDiscriminator(def),
        }),
      }
    case 'intersection':
      return { left: () => replace(def.left), right: () => replace(def.right) }
    case 'tuple': {
      const { rest } = def
      return {
        items: () => def.items.map(replace),
        ...(rest && { rest: () => replace(rest) }),
      }
    }
    case 'record':
    case 'map':
      return { keyType: () => replace(def.keyType), valueType: () => replace(def.valueType) }
    case 'set':
      return { valueType: () => replace(def.valueType) }
    case 'lazy':
      return { getter: () => () => replace(innerOfLazy(schema)) }
    case 'pipe':
      if (direction === 'output') return { out: () => replace(def.out) }
      return def.in._zod.def.type === 'transform'
        ? { out: () => replace(def.out) }
        : { in: () => replace(def.in) }
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
    case 'promise':
    case 'success':
      return { innerType: () => replace(def.innerType) }
    default:
      return {}
  }
}

const isDiscriminated = (def: Def): def is z.core.$ZodDiscriminatedUnionDef =>
  'discriminator' in def

const hasBigintDiscriminator = ({ options, discriminator }: z.core.$ZodDiscriminatedUnionDef) =>
  options.some((option) =>
    [...(option._zod.propValues?.[discriminator] ?? [])].some((value) => typeof value === 'bigint'),
  )

/** The schema that a `z.lazy` makes: Zod keeps it, while the getter may make a new one each time. */
export const innerOfLazy = (schema: Zod): Zod => (schema as z.core.$ZodLazy)._zod.innerType

const maxSchemas = 10_000

/** Throws for a schema that has no end, because a function in it makes a new schema each time. */
export function checkSchemaCount(count: number): void {
  if (count > maxSchemas)
    throw new Error(
      `it contains more than ${maxSchemas} schemas; a z.lazy() or a getter must return the same schema each time`,
    )
}

/** True if `matches` holds for the schema or for any schema inside it. */
export function someSchema(
  schema: Zod,
  direction: 'input' | 'output',
  matches: (schema: Zod) => boolean,
): boolean {
  const pending = [schema]
  const seen = new Set(pending)
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (matches(next)) return true
    const visit = (child: Zod): Zod => {
      if (!seen.has(child)) pending.push(child)
      seen.add(child)
      checkSchemaCount(seen.size)
      return child
    }
    for (const read of Object.values(replaceChildren(next, direction, visit))) {
      const value = read()
      // The getter of `z.lazy`.
      if (typeof value === 'function') value()
    }
  }
  return false
}
