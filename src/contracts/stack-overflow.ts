import type { Contract, Issue, Parsed } from '../capability/contract.ts'

/** The same, but a value whose nesting overflows the stack is invalid: callers choose the nesting. */
export const withDepthIssue =
  (parse: Contract['parse']): Contract['parse'] =>
  (value) => {
    try {
      const parsed = parse(value)
      return parsed instanceof Promise ? parsed.catch(refuseTooDeep) : parsed
    } catch (error) {
      return refuseTooDeep(error)
    }
  }

/** Throws all other errors, also a RangeError that the author's code threw. */
export function refuseTooDeep(error: unknown): Parsed {
  if (error instanceof RangeError && error.message.startsWith('Maximum call stack'))
    return { ok: false, issues: [tooDeep] }
  throw error
}

const tooDeep: Issue = { pointer: '', message: 'the value is nested too deeply to be checked' }
