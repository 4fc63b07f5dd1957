import type { Fault } from '../capability/fault.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import type { Fields } from './document.ts'
import { isMethod } from './methods.ts'

/** Converts Swagger 2.0 to OpenAPI 3.0. */
export async function fromSwagger(root: Fields): Promise<Fields | Fault> {
  const { upgradeFromTwoToThree } = await import('@scalar/openapi-upgrader/2.0-to-3.0')
  try {
    // The converter modifies its argument.
    const copy = structuredClone({ ...root, swagger: '2.0' })
    const converted = upgradeFromTwoToThree(copy) as Fields
    addEncodings(root, converted)
    return withSecureServersFirst(converted)
  } catch (error) {
    return { fault: `Swagger 2.0 cannot be converted: ${(error as Error).message}` }
  }
}

/** The first server is used, and secrets need TLS: `schemes` are a set, often written with http first. */
function withSecureServersFirst(converted: Fields): Fields {
  const { servers } = converted
  if (!Array.isArray(servers)) return converted
  const isSecure = (server: unknown) =>
    isPlainObject(server) && /^https:/i.test(String((server as Fields).url))
  return {
    ...converted,
    servers: [...servers.filter(isSecure), ...servers.filter((one) => !isSecure(one))],
  }
}

/** The converter drops how lists in forms are written; without it they would repeat their name. */
function addEncodings(root: Fields, converted: Fields): void {
  for (const [route, item] of entries(root.paths))
    for (const [method, operation] of entries(item).filter(([key]) => isMethod(key))) {
      const lists = [...listParameters(root, item), ...listParameters(root, operation)].filter(
        ({ in: place, type }) => place === 'formData' && type === 'array',
      )
      const form = dig(converted, ['paths', route, method, 'requestBody', 'content', urlEncoded])
      if (lists.length > 0 && form)
        form.encoding = Object.fromEntries(
          lists.map(({ name, collectionFormat }) => [name, toEncoding(collectionFormat)]),
        )
    }
}

const urlEncoded = 'application/x-www-form-urlencoded'

function toEncoding(format: unknown): Fields {
  if (format === 'multi') return { style: 'form', explode: true }
  if (format === 'ssv') return { style: 'spaceDelimited', explode: false }
  if (format === 'pipes') return { style: 'pipeDelimited', explode: false }
  return { style: 'form', explode: false }
}

/** Parameters of a path item or operation; references can only be to shared ones. */
function listParameters(root: Fields, owner: Fields): readonly Fields[] {
  if (!Array.isArray(owner.parameters)) return []
  return owner.parameters.filter(isPlainObject).flatMap((parameter: Fields) => {
    const { $ref } = parameter
    if (typeof $ref !== 'string') return [parameter]
    const shared = dig(root, ['parameters', $ref.replace('#/parameters/', '')])
    return shared ? [shared] : []
  })
}

const entries = (value: unknown): readonly (readonly [string, Fields])[] =>
  isPlainObject(value)
    ? Object.entries(value).flatMap(([key, one]) => (isPlainObject(one) ? [[key, one]] : []))
    : []

function dig(value: Fields, keys: readonly string[]): Record<string, unknown> | undefined {
  let at: unknown = value
  for (const key of keys) {
    if (!isPlainObject(at) || !Object.hasOwn(at, key)) return undefined
    at = at[key]
  }
  return isPlainObject(at) ? (at as Record<string, unknown>) : undefined
}
