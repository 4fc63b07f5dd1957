import type { ClientCapabilities } from '@modelcontextprotocol/server'
import { dropUndefined } from '../json/drop-undefined.ts'
import { isPlainObject } from '../json/is-plain-object.ts'

/** Client capabilities that are plainly valid, the same in both eras. All others are judged by the SDK. */
export function isPlainClient(capabilities: unknown): capabilities is ClientCapabilities {
  if (!isPlainObject(capabilities)) return false
  for (const name in capabilities) {
    const isPlainPart = plainParts.get(name)
    const capability = capabilities[name]
    if (!isPlainPart || !isPlainObject(capability)) return false
    for (const key in capability) if (!isPlainPart(capability[key], key)) return false
  }
  return true
}

const isEmpty = (value: unknown): boolean => {
  if (!isPlainObject(value)) return false
  for (const _ in value) return false
  return true
}

/** Extensions have settings of any kind; these are the common ones. */
const isPlainExtension = (settings: unknown): boolean =>
  isPlainObject(settings) && Object.values(settings).flat().every(isTextOrFlag)

const isTextOrFlag = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean'

/** A map, because capabilities can have the names of an object's own methods. */
const plainParts = new Map<string, (part: unknown, key: string) => boolean>([
  ['roots', (part, key) => key === 'listChanged' && typeof part === 'boolean'],
  ['sampling', isEmpty],
  ['elicitation', isEmpty],
  ['experimental', isPlainExtension],
  ['extensions', isPlainExtension],
])

/** The capabilities that decide which questions can be asked, without their settings, for sessions that keep them. */
export const toAskingCapabilities = ({
  elicitation,
  sampling,
  roots,
}: ClientCapabilities): ClientCapabilities =>
  dropUndefined({
    elicitation:
      elicitation && dropUndefined({ form: elicitation.form && {}, url: elicitation.url && {} }),
    sampling: sampling && {},
    roots: roots && {},
  })
