import type { Json } from '../../capability/json.ts'
import { isLoopbackHost } from '../../upstream/loopback.ts'
import { type Effect, toEffect } from './difference.ts'

interface AddressChange {
  readonly old: Json | undefined
  readonly current: Json | undefined
}

export interface AddressVerdict {
  readonly kind: string
  readonly action: 'added' | 'removed' | 'changed'
  readonly effect: Effect
  /** The predicate of a sentence about the address. */
  readonly text: string
}

/**
 * What a changed URL or host means: where calls go, and whether they are encrypted. User names, passwords
 * and queries of URLs are never printed: they may be secrets.
 */
export function judgeAddress({ old, current }: AddressChange): AddressVerdict[] {
  if (old === undefined) return [toVerdict('added', 'widening', `was added: ${toText(current)}`)]
  if (current === undefined)
    return [toVerdict('removed', 'narrowing', `was removed: ${toText(old)}`)]
  const [from, to] = [toAddress(old), toAddress(current)]
  if (!from || !to) {
    // The value of a variable is not part of the configuration, and can be any host.
    const canMove = isReference(old) || isReference(current)
    const text = `changed from ${toText(old)} to ${toText(current)}`
    return [
      canMove
        ? toVerdict('changed', 'widening', `${text}, which can be another host`)
        : toVerdict('changed', 'neutral', text),
    ]
  }
  const verdicts: AddressVerdict[] = []
  if (from.host !== to.host)
    verdicts.push({
      kind: 'host',
      action: 'changed',
      effect: 'widening',
      text: `moved from the host ${from.host} to ${to.host}`,
    })
  if (from.scheme !== to.scheme) verdicts.push(judgeScheme(from, to))
  if (from.path !== to.path)
    verdicts.push({
      kind: 'path',
      action: 'changed',
      effect: 'neutral',
      text: `has the path ${to.path} instead of ${from.path}`,
    })
  if (verdicts.length > 0) return verdicts
  const isQuery = from.rest !== to.rest
  const text = `changed in its ${isQuery ? 'query, user or fragment, which is not shown' : 'spelling'}`
  return [toVerdict('changed', 'neutral', text)]
}

/** Plain schemes to this machine are as good as encrypted ones. */
function judgeScheme(from: Address, to: Address): AddressVerdict {
  const exposure = ({ scheme, host }: Address) =>
    encrypted.has(scheme) || isLoopbackHost(host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1'))
      ? 0
      : 1
  const effect = toEffect(exposure(from), exposure(to))
  const consequence = {
    widening: ': it is no longer encrypted',
    narrowing: ': it is encrypted now',
    neutral: '',
  }[effect]
  const text = `uses ${to.scheme} instead of ${from.scheme}${consequence}`
  return { kind: 'scheme', action: 'changed', effect, text }
}

const encrypted = new Set(['https', 'wss', 'tls', 'nats+tls'])

interface Address {
  /** Empty for a host alone. */
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly rest: string
}

const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i
const bareHost = /^(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d+)?$/i

/** `undefined` for references such as `env://NAME` and for relative addresses. */
function toAddress(value: Json): Address | undefined {
  if (typeof value !== 'string') return undefined
  if (isReference(value)) return undefined
  if (hasScheme.test(value)) {
    if (!URL.canParse(value)) return undefined
    const { protocol, host, pathname, search, hash, username, password } = new URL(value)
    const rest = [search, hash, username, password].join('\n')
    return { scheme: protocol.replace(/:$/, ''), host, path: pathname, rest }
  }
  return bareHost.test(value)
    ? { scheme: '', host: value.toLowerCase(), path: '', rest: '' }
    : undefined
}

const isReference = (value: Json): boolean =>
  typeof value === 'string' && /^(?:env|vault|kms):/.test(value)

/** A reference to a variable, or a relative address. */
const plainReference = /^(?:(?:env|vault|kms):\/\/)?[\w./:-]*$/

function toText(value: Json | undefined): string {
  const address = value === undefined ? undefined : toAddress(value)
  if (!address)
    return typeof value === 'string' && plainReference.test(value) ? value : 'one that is not shown'
  const { scheme, host, path } = address
  return `${scheme === '' ? '' : `${scheme}://`}${host}${path}`
}

const toVerdict = (
  action: AddressVerdict['action'],
  effect: Effect,
  text: string,
): AddressVerdict => ({ kind: 'address', action, effect, text })
