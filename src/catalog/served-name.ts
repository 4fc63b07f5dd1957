import { createHash } from 'node:crypto'
import type { Fault } from '../capability/fault.ts'

/** `portable` names work in every known host; `literal` keeps all names that MCP allows. */
export type Naming = 'portable' | 'literal'

export type NameReading = { readonly name: string } | Fault

/** The name that clients see: a pure function of the declared name. */
export function toServedName(declaredName: string, naming: Naming): NameReading {
  if (declaredName === '') return { fault: 'the name is empty' }
  if (declaredName in Object.prototype || declaredName === 'prototype')
    return {
      fault: `the name ${declaredName} is a property of every JavaScript object and breaks clients`,
    }
  if (naming === 'literal')
    return /^[A-Za-z0-9_.-]{1,128}$/.test(declaredName)
      ? { name: declaredName }
      : { fault: 'MCP allows 1 to 128 characters of A-Z a-z 0-9 _ - . in a name' }
  return { name: portable.test(declaredName) ? declaredName : toPortable(declaredName) }
}

const portable = /^[A-Za-z0-9_-]{1,64}$/

/** Rewrites dotted and overlong names: one of them makes some hosts drop the whole list. */
function toPortable(declaredName: string): string {
  const underscored = declaredName.replaceAll(/[./ ]/g, '_')
  if (portable.test(underscored)) return underscored
  // Cutting and replacing could make different names equal: a digest keeps them distinct.
  const digest = createHash('sha256').update(declaredName).digest('hex').slice(0, 8)
  return `${underscored.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 55)}_${digest}`
}
