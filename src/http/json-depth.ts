const deepest = 64

/**
 * Whether JSON text is nested deeper than anything honest. Looked at before parsing, because deep
 * nesting overflows the stack of whoever walks the value later.
 */
export function isTooDeep(text: string): boolean {
  return mayBeDeep(text) && isDeep(text)
}

/** Fewer brackets than levels: certainly not. Found at the speed of `indexOf`. */
function mayBeDeep(text: string): boolean {
  let left = deepest
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1))
      if (--left < 0) return true
  return false
}

function isDeep(text: string): boolean {
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (quoted) {
      if (code === 0x5c) at++
      else if (code === 0x22) quoted = false
    } else if (code === 0x22) quoted = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > deepest) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}
