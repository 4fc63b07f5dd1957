import fc from 'fast-check'

type Schema = Readonly<Record<string, unknown>>

/** Values that a JSON Schema is likely to accept; the test still has to validate them. */
export function aSample(root: Schema): fc.Arbitrary<unknown> {
  return sampleOf(root, root, 0) ?? fc.constant(undefined)
}

/** `undefined` for a schema that accepts nothing, or that is nested too deeply. */
function sampleOf(schema: unknown, root: Schema, depth: number): fc.Arbitrary<unknown> | undefined {
  if (schema === true || depth > 6)
    return schema === true ? fc.jsonValue({ maxDepth: 1 }) : undefined
  if (schema === false) return undefined
  const node = schema as Schema
  if (typeof node.$ref === 'string') return sampleOf(resolve(node.$ref, root), root, depth + 1)
  if ('const' in node) return fc.constant(node.const)
  if (Array.isArray(node.enum)) return fc.constantFrom(...node.enum)
  if ('not' in node) return undefined
  const branches = (node.anyOf ?? node.oneOf) as unknown[] | undefined
  if (branches) {
    const samples = branches.flatMap((branch) => sampleOf(branch, root, depth + 1) ?? [])
    return samples.length > 0 ? fc.oneof(...samples) : undefined
  }
  if (Array.isArray(node.allOf)) return merged(node.allOf, root, depth)
  if (Array.isArray(node.type)) {
    const samples = node.type.flatMap((type) => sampleOf({ ...node, type }, root, depth + 1) ?? [])
    return samples.length > 0 ? fc.oneof(...samples) : undefined
  }
  return sampleOfType(node, root, depth)
}

function sampleOfType(
  node: Schema,
  root: Schema,
  depth: number,
): fc.Arbitrary<unknown> | undefined {
  switch (node.type) {
    case 'string':
      return aString(node)
    case 'integer':
      return fc.integer({ min: -1000, max: 1000 })
    case 'number':
      return fc.oneof(fc.integer({ min: -1000, max: 1000 }), fc.constantFrom(0.5, -2.25))
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return anArray(node, root, depth)
    case 'object':
      return anObject(node, root, depth)
    default:
      return fc.jsonValue({ maxDepth: 1 })
  }
}

function aString(node: Schema): fc.Arbitrary<unknown> {
  if (node.format === 'date-time')
    return fc
      .tuple(
        fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }),
        fc.constantFrom('Z', '+02:00', '-11:30'),
      )
      .map(([date, offset]) => date.toISOString().replace('Z', offset))
  if (node.format === 'uri') return fc.webUrl()
  if (typeof node.pattern === 'string') return fc.stringMatching(new RegExp(node.pattern))
  return fc.string({ maxLength: 5 })
}

function anArray(node: Schema, root: Schema, depth: number): fc.Arbitrary<unknown> | undefined {
  const prefixItems = (node.prefixItems ?? []) as unknown[]
  const prefix = prefixItems.map((item) => sampleOf(item, root, depth + 1))
  const required = (node.minItems as number | undefined) ?? 0
  const available = prefix.indexOf(undefined)
  const present = prefix.slice(0, available === -1 ? prefix.length : available)
  const rest =
    node.items === undefined ? fc.jsonValue({ maxDepth: 1 }) : sampleOf(node.items, root, depth + 1)
  if (present.length < Math.min(required, prefix.length)) return undefined
  if (required > present.length && !rest) return undefined
  const tail =
    rest && present.length === prefix.length
      ? fc.array(rest, {
          minLength: Math.max(0, required - prefix.length),
          maxLength: Math.min((node.maxItems as number | undefined) ?? 3, 3),
        })
      : fc.constant([])
  return fc
    .tuple(fc.tuple(...(present as fc.Arbitrary<unknown>[])), tail, fc.nat(3))
    .map(([head, more, cut]) => {
      const items = [...head, ...more]
      return items.slice(0, Math.max(required, items.length - cut))
    })
}

function anObject(node: Schema, root: Schema, depth: number): fc.Arbitrary<unknown> | undefined {
  const required = new Set((node.required ?? []) as string[])
  const properties = Object.entries((node.properties ?? {}) as Schema)
  const samples: Record<string, fc.Arbitrary<unknown>> = {}
  for (const [key, property] of properties) {
    const sample = sampleOf(property, root, depth + 1)
    if (sample) samples[key] = sample
    else if (required.has(key)) return undefined
  }
  const value =
    node.additionalProperties === undefined
      ? fc.jsonValue({ maxDepth: 1 })
      : sampleOf(node.additionalProperties, root, depth + 1)
  const key = node.propertyNames
    ? sampleOf(node.propertyNames, root, depth + 1)
    : fc.constantFrom('extra1', 'extra2')
  for (const name of required) if (!(name in samples)) samples[name] = value ?? fc.constant(null)
  const requiredKeys = Object.keys(samples).filter((name) => required.has(name))
  const declared = fc.record(samples, { requiredKeys })
  if (!value || !key) return declared
  const names = new Set(properties.map(([name]) => name))
  const extra = fc.dictionary(key as fc.Arbitrary<string>, value, { maxKeys: 2 })
  return fc.tuple(declared, extra).map(([own, others]) => ({
    ...Object.fromEntries(Object.entries(others).filter(([name]) => !names.has(name))),
    ...own,
  }))
}

/** All members of an `allOf` are objects here: one sample of each, merged. */
function merged(
  members: readonly unknown[],
  root: Schema,
  depth: number,
): fc.Arbitrary<unknown> | undefined {
  const samples = members.map((member) => sampleOf(member, root, depth + 1))
  if (samples.some((sample) => sample === undefined)) return undefined
  return fc
    .tuple(...(samples as fc.Arbitrary<unknown>[]))
    .map((parts) =>
      parts.every((part) => typeof part === 'object' && !Array.isArray(part))
        ? Object.assign({}, ...parts)
        : parts[0],
    )
}

function resolve(reference: string, root: Schema): unknown {
  return reference
    .slice(1)
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (node, key) => (node as Schema)[key.replaceAll('~1', '/').replaceAll('~0', '~')],
      root,
    )
}
