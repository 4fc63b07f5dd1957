import { SetupError } from '../../capability/setup-error.ts'
import type { Source } from '../../capability/source.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { ServiceOptions } from './options.ts'
import { isService } from './service.ts'
import { serviceSource } from './service-source.ts'

type Exports = Readonly<Record<string, unknown>>

/**
 * Makes a source of a module whose `default` export is a service or a function that creates one. Its
 * `options` export holds options that YAML cannot express; `configured` options take precedence.
 */
export async function toServiceSource(
  exports: Exports,
  configured: ServiceOptions,
): Promise<Source> {
  const { default: main, options } = exports
  const service = typeof main === 'function' ? await main() : main
  if (!isService(service))
    throw new SetupError('its default export must be a service or a function that returns one')
  return serviceSource(service, { ...(isPlainObject(options) && options), ...configured })
}
