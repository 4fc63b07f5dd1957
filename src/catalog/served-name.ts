import { createHash } from 'node:crypto'

/** `portable` names pass every known host; `literal` keeps what the protocol allows. */
export type Naming = 'portable' | 'literal'

export type NameReading = { readonly name: string } | { readonly fault: string }

/** The name a client sees. The same declared name always gives the same served one. */
export function toServedName(declared: string, naming: Naming): NameReading {
  if (declared === '') return { fault: 'the name is empty' }
  if (declared in Object.prototype || declared === 'prototype')
    return { fault: `the name ${declared} means something else to JavaScript clients` }
  if (naming === 'literal')
    return /^[A-Za-z0-9_.-]{1,128}$/.test(declared)
      ? { name: declared }
      : { fault: 'the protocol allows 1 to 128 of A-Z a-z 0-9 _ - . in a name' }
  return { name: portable.test(declared) ? declared : toPortable(declared) }
}

const portable = /^[A-Za-z0-9_-]{1,64}$/

/** One dotted or overlong name makes some hosts drop the whole list, so it is rewritten. */
function toPortable(declared: string): string {
  const plain = declared.replaceAll(/[./ ]/g, '_')
  if (portable.test(plain)) return plain
  // What was cut or replaced would make twins of different names: a digest keeps them apart.
  const digest = createHash('sha256').update(declared).digest('hex').slice(0, 8)
  return `${plain.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 55)}_${digest}`
}
