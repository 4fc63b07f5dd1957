import { hash } from 'node:crypto'
import type { Capability } from '../capability/capability.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { keyArgument, toKeyArgument } from './key-argument.ts'

interface KeyedInput {
  readonly capability: Capability
  /** The other arguments of the call. */
  readonly input: unknown
}

/**
 * A key that is made here, in a form that an own argument of the capability accepts: the text itself, or one that
 * is derived from it. Undefined if the argument accepts none of them.
 */
export function toAcceptedKey(call: KeyedInput, key: string): string | undefined {
  if (!hasOwnKey(call.capability)) return key
  return [key, ...derive(key)].find((candidate) => fitKey(call, candidate) !== undefined)
}

/** The value of an own argument for a key from metadata or a header, which are always texts. */
export const toKeyValue = (call: KeyedInput, key: string): string | number =>
  fitKey(call, key) ?? key

const hasOwnKey = (capability: Capability): boolean =>
  ['own', 'sometimes'].includes(toKeyArgument(capability))

/** The key as a text or as a number, whichever the argument accepts. */
function fitKey({ capability, input }: KeyedInput, key: string): string | number | undefined {
  const values = /^(?:0|[1-9]\d{0,14})$/.test(key) ? [key, Number(key)] : [key]
  return values.find((value) => {
    const parsed = capability.input.parse({
      ...(isPlainObject(input) ? input : {}),
      [keyArgument]: value,
    })
    // Asynchronous checks are made when the call is.
    if (parsed instanceof Promise) return true
    return parsed.ok || !parsed.issues.some(({ pointer }) => pointer === `/${keyArgument}`)
  })
}

/** A UUID, digests of several lengths, and numbers of 48 and 31 bits. */
function derive(key: string): readonly string[] {
  const digest = hash('sha256', key)
  const uuid = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-4${digest.slice(13, 16)}-a${digest.slice(17, 20)}-${digest.slice(20, 32)}`
  const number = Number.parseInt(digest.slice(0, 12), 16)
  const digests = [32, 64, 24, 16, 12, 8].map((length) => digest.slice(0, length))
  return [uuid, ...digests, String(number), String(number % 2 ** 31)]
}
