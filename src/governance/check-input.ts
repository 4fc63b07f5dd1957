import type { Issue } from '../capability/contract.ts'
import { refused } from './failures.ts'
import type { Step } from './step.ts'

export const checkInput: Step = async (call, next) => {
  const reading = call.capability.input.parse(call.input)
  const parsed = reading instanceof Promise ? await reading : reading
  if (parsed.ok) return next({ ...call, input: parsed.value })
  const issues = parsed.issues.slice(0, mostIssues).map(toBrief)
  const unsaid = parsed.issues.length - issues.length
  const message = [
    `The arguments of ${call.capability.name} are not valid. Correct them and call again.`,
    ...issues.map(toLine),
    ...(unsaid > 0 ? [`… and ${unsaid} more.`] : []),
  ].join('\n')
  return refused('invalid_input', message, {
    details: { issues: issues.map(({ pointer, message }) => ({ pointer, message })) },
    retryable: true,
  })
}

const mostIssues = 20
const longest = 500

/** A client may name a property with a megabyte; nobody has to read it back. */
const toBrief = ({ pointer, message }: Issue): Issue => ({
  pointer: cut(pointer),
  message: cut(message),
})

const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text)

const toLine = ({ pointer, message }: Issue): string => `- ${pointer || '(arguments)'}: ${message}`
