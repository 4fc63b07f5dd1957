const maxDepth = 64

/**
 * Checks the nesting of JSON text before it is parsed: recursive code that walks a deeply nested
 * value later would overflow the stack.
 */
export function isTooDeep(text: string): boolean {
  return hasManyBrackets(text) && exceedsDepth(text)
}

/** Fast path: `indexOf` finds that nearly all texts have fewer opening brackets than levels allowed. */
function hasManyBrackets(text: string): boolean {
  let remaining = maxDepth
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1))
      if (--remaining < 0) return true
  return false
}

function exceedsDepth(text: string): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === 0x5c) at++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}
