import { isPlainObject } from '../../capability/json.ts'
import { SetupError } from '../../capability/setup-error.ts'
import type { Source } from '../../capability/source.ts'
import type { ServiceOptions } from './options.ts'
import { isService } from './service.ts'
import { serviceSource } from './service-source.ts'

type Exports = Readonly<Record<string, unknown>>

/** Whether a module that was only pointed at is meant as a service. */
export const isServiceModule = ({ default: main }: Exports): boolean =>
  isService(main) || typeof main === 'function'

/**
 * From a module's exports: a service or a function that makes one as `default`, and as `options` what
 * a configuration cannot say. What the configuration says counts.
 */
export async function toServiceSource(exports: Exports, said: ServiceOptions): Promise<Source> {
  const { default: main, options } = exports
  const service = typeof main === 'function' ? await main() : main
  if (!isService(service))
    throw new SetupError('it must export a service, or a function that makes one, as default')
  return serviceSource(service, { ...(isPlainObject(options) && options), ...said })
}
