import type { z } from 'zod'
import { checkOptionNames } from '../../capability/check-option-names.ts'
import { SetupError } from '../../capability/setup-error.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { DrawbridgeOptions } from '../drawbridge-options.ts'
import type { PolicyOptions } from './config-options.ts'
import { type Config, configShape } from './config-shape.ts'

const optionNames = {
  name: true,
  version: true,
  description: true,
  instructions: true,
  sources: true,
  mounts: true,
  policy: true,
  audit: true,
  http: true,
  store: true,
  secrets: true,
  token: true,
  onOperatorFailure: true,
  onError: true,
  onOperationalError: true,
} satisfies Record<keyof DrawbridgeOptions, true>

/** Validates the options of a program and returns those that have defaults. */
export function checkOptions(options: DrawbridgeOptions): Config {
  checkOptionNames(options, optionNames)
  if (!Array.isArray(options.sources))
    throw new SetupError('The option "sources" must be an array.')
  options.sources.forEach(checkSource)
  const { mounts = {}, policy = {}, audit = {}, http = {} } = options
  return parse({ mounts, policy, audit, http })
}

export const checkPolicy = (policy: PolicyOptions): Config['policy'] => parse({ policy }).policy

function parse(options: unknown): Config {
  const { data, error } = configShape.safeParse(options)
  if (error) throw toOptionsError(error.issues)
  return data
}

export function toOptionsError(issues: readonly z.core.$ZodIssue[]): SetupError {
  const problems = issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  return new SetupError(`Invalid options: ${problems.join('; ')}`)
}

function checkSource(item: unknown, index: number): void {
  const source = isPlainObject(item) && 'source' in item ? item.source : item
  const isSource =
    typeof source === 'object' &&
    source !== null &&
    'read' in source &&
    typeof source.read === 'function'
  if (!isSource)
    throw new SetupError(
      `sources[${index}] is not a source. Pass definitions as definitionSource([…]).`,
    )
}
