const maxDepth = 64

/** What is wrong with the shape of a JSON text. */
export type ShapeFault = 'too_deep' | 'too_many_values'

/**
 * Checks JSON text before it is parsed. Recursive code that walks a deeply nested value later would
 * overflow the stack, and a million small values would block the event loop for a second. Returns the
 * number of values, or a fault.
 */
export function checkShape(bytes: Uint8Array, maxValues: number): number | ShapeFault {
  let depth = 0
  // Every value but the first of a container follows a comma.
  let values = 1
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case 0x22:
        at = findStringEnd(bytes, at + 1)
        break
      case 0x7b:
      case 0x5b:
        if (++depth > maxDepth) return 'too_deep'
        values++
        break
      case 0x2c:
        values++
        break
      case 0x7d:
      case 0x5d:
        depth--
    }
    if (values > maxValues) return 'too_many_values'
  }
  return values
}

function findStringEnd(bytes: Uint8Array, start: number): number {
  const quote = bytes.indexOf(0x22, start)
  if (quote < 0) return bytes.length
  if (bytes[quote - 1] !== 0x5c) return quote
  // The quote may be escaped.
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at] === 0x5c) at++
    else if (bytes[at] === 0x22) return at
  }
  return bytes.length
}

/** The check of a small body: it has few values. */
export function isTooDeep(text: string): boolean {
  return hasManyBrackets(text) && checkShape(Buffer.from(text), text.length + 1) === 'too_deep'
}

/** Fast path: `indexOf` finds that nearly all texts have fewer opening brackets than levels allowed. */
function hasManyBrackets(text: string): boolean {
  let remaining = maxDepth
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1))
      if (--remaining < 0) return true
  return false
}
