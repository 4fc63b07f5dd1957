import type { ConfigReading } from './read-config.ts'
import type { UnsetVariables } from './unset-variables.ts'

/** Shorter values occur in ordinary words. */
const minLength = 8

/** Replaces values from the environment by their references in texts that are printed. */
export function createMask(
  configurations: readonly Pick<ConfigReading, 'secrets' | 'variables'>[],
  unset: UnsetVariables | undefined,
): (text: string) => string {
  const references = configurations.flatMap(({ secrets, variables }) =>
    secrets.flatMap((value, index) => {
      const reference = `env://${variables[index]}`
      return [value, ...toUrlParts(value)].map((text) => [text, reference] as const)
    }),
  )
  // Longest first: a value may contain another one.
  const sorted = [...new Map(references)]
    .sort(([a], [b]) => b.length - a.length)
    .map(([value, reference]) => ({ value, reference, pattern: toPattern(value) }))
  return (text) => {
    const exact = sorted.find(({ value }) => value === text)
    if (exact) return exact.reference
    let masked = text
    for (const { value, reference, pattern } of sorted)
      if (value.length >= minLength)
        masked = maskBeginning(
          masked.replaceAll(pattern, () => reference),
          value,
          reference,
        )
    return unset?.mask(masked) ?? masked
  }
}

/** Messages shorten long texts: the beginning of a value may stand before an ellipsis. */
function maskBeginning(text: string, value: string, reference: string): string {
  let masked = text
  for (let end = masked.indexOf('…'); end >= 0; end = masked.indexOf('…', end + 1))
    for (let length = Math.min(value.length - 1, end); length >= minLength; length--)
      if (masked.startsWith(value.slice(0, length), end - length)) {
        masked = `${masked.slice(0, end - length)}${reference}${masked.slice(end)}`
        end += reference.length - length
        break
      }
  return masked
}

/** Messages about a URL name its host or its path alone. */
function toUrlParts(value: string): string[] {
  if (!value.includes('://') || !URL.canParse(value)) return []
  const { host, pathname } = new URL(value)
  return [host, pathname.replace(/\/$/, '')]
}

/**
 * A URL or host is not a part of a longer one: `https://a.example` is not in `https://a.example.com`. A path may
 * follow any host.
 */
function toPattern(value: string): RegExp {
  const escaped = value.replaceAll(/[^\w\s]/g, '\\$&')
  if (!/^[\w.:/[\]-]+$/.test(value) || !/[.:/]/.test(value)) return new RegExp(escaped, 'g')
  const start = value.startsWith('/') ? '' : '(?<![\\w.-])'
  return new RegExp(`${start}${escaped}(?![\\w-]|\\.\\w)`, 'g')
}
