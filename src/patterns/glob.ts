/** A test for names; `*` in the pattern matches any characters. Time: pattern × name at most. */
export function toGlob(pattern: string): (name: string) => boolean {
  const [first = '', ...others] = pattern.split('*')
  const last = others.pop()
  if (last === undefined) return (name) => name === pattern
  return (name) => {
    if (!name.startsWith(first)) return false
    let at = first.length
    for (const part of others) {
      const found = name.indexOf(part, at)
      if (found === -1) return false
      at = found + part.length
    }
    return name.length - last.length >= at && name.endsWith(last)
  }
}
