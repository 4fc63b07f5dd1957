import type { LeftOut } from './dialect.ts'
import { isText } from './shape.ts'

/** A definition for which no function is exported. */
export const noFunction = (name: unknown, severity: LeftOut['severity'] = 'error'): LeftOut => ({
  leftOut: `it has no function. ${isText(name) ? toAdvice(name) : 'Add execute, and a name'}`,
  code: 'function_missing',
  severity,
})

function toAdvice(name: string): string {
  if (!/^[A-Za-z_$][\w$]*$/.test(name))
    return `Export a map such as handlers = { ${JSON.stringify(name)}: (input) => … }`
  return `Export one named ${name}, or a map such as handlers = { ${name}: (input) => … }`
}
