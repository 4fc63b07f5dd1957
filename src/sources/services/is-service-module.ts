import { isService } from './service.ts'

/** Recognises a service module by its default export. */
export const isServiceModule = ({ default: main }: Readonly<Record<string, unknown>>): boolean =>
  isService(main) || typeof main === 'function'
