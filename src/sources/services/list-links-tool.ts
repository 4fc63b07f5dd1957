import type { Capability } from '../../capability/capability.ts'
import { readOnly } from '../../capability/effects.ts'
import { done } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { ownContract } from '../../contracts/own-contract.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { toUri } from './address.ts'
import { isService } from './service.ts'

/** A link, whether or not it leads to a valid service. */
export interface ServiceLink {
  readonly key: string
  readonly service: unknown
}

/** A tool that lists the linked services, for clients that connect to them on their own. */
export const toListLinksTool = (source: string, links: () => readonly ServiceLink[]): Capability =>
  Object.freeze({
    name: 'list_links',
    description:
      'Lists the services this one is linked to now, by name and address. Their actions are not served here.',
    input: ownContract({ type: 'object', properties: {}, additionalProperties: false }),
    effects: readOnly,
    rules: noRules,
    origin: { source, pointer: '/links' },
    extras: {},
    invoke: async () => done({ links: links().map((link) => toEntry(source, link)) }),
  })

const toEntry = (source: string, { key, service }: ServiceLink) => ({
  name: key,
  uri: toUri(source, 'link', key),
  ...dropUndefined({ service: toServiceName(service) }),
})

const toServiceName = (service: unknown): string | undefined =>
  isService(service) && typeof service.serviceName === 'string' ? service.serviceName : undefined
