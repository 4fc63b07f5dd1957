import type { Fields } from './api-document.ts'
import { findArgument } from './compare-arguments.ts'
import { nothing } from './generate-arguments.ts'
import type { OperationSpec, ParameterSpec } from './operations.ts'

/** What the places of an operation's arguments cannot carry, because their style has no way to write it. */
export function unsafeTexts(
  { parameters }: OperationSpec,
  { properties }: Fields,
): (argument: string) => RegExp {
  const byArgument = new Map(
    parameters.map((spec) => [findArgument(properties, spec), toUnsafe(spec)]),
  )
  return (argument) => byArgument.get(argument) ?? nothing
}

function toUnsafe({ place, style, explode, allowReserved, shapes }: ParameterSpec): RegExp {
  const isList = shapes.has('array') || shapes.has('object')
  // A header is one line of Latin-1; its items are separated by commas.
  if (place === 'header')
    return isList && style ? /[^\x20-\x7e\xa0-\xff]|[,=]|^ | $/ : /[^\x20-\x7e\xa0-\xff]/
  // An empty variable, `.` and `..` would be another path.
  if (place === 'path') return /^\.{0,2}$/
  if (style === 'spaceDelimited') return / |\+/
  if (style === 'pipeDelimited') return /\|/
  if (allowReserved && !explode) return /,/
  return nothing
}
