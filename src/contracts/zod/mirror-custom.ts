import { z } from 'zod'

/**
 * The mirror of `z.instanceof()` and `z.custom()` of Zod 3, which are refinements of `z.any()`. Only what
 * they say about a wrong value tells them apart from others; `undefined` for those.
 */
export function mirrorCustom(refinement: unknown): z.ZodType | undefined {
  const issue = findIssue(refinement)
  // Only `z.custom()` stops at its own issue.
  if (issue?.fatal !== true) return undefined
  const name = /^Input not instance of (\S+)$/.exec(String(issue.message))?.[1]
  if (name === undefined) return z.custom()
  const Class = classes.find((known) => known.name === name)
  if (Class) return z.instanceof(Class)
  const unknown = z.custom()
  unknown._zod.bag.Class = Object.defineProperty(class {}, 'name', { value: name })
  return unknown
}

/** Those that have a form in JSON. */
const classes = [Date, URL, Uint8Array, Buffer]

interface CustomIssue {
  readonly fatal?: unknown
  readonly message?: unknown
}

function findIssue(refinement: unknown): CustomIssue | undefined {
  const issues: CustomIssue[] = []
  const context = { addIssue: (issue: CustomIssue) => issues.push(issue), path: [] }
  try {
    const result = (refinement as (value: unknown, context: unknown) => unknown)('\0', context)
    // An asynchronous function is not waited for; its rejection must not end the process.
    if (result instanceof Promise) result.catch(() => {})
  } catch {
    return undefined
  }
  return issues[0]
}
