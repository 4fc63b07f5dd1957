import type { Json, JsonObject } from '../../capability/json.ts'
import type { TrustSurface } from '../../capability/trust-surface.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { toMapping } from '../intents/intent-keys.ts'
import { configRules } from './config-rules.ts'
import type { Config, SourceConfig } from './config-shape.ts'

/** A configuration as settings that `diff` compares. References such as `env://NAME` are not resolved in it. */
export const toConfigSurface = (config: Config): TrustSurface => ({
  settings: JSON.parse(
    JSON.stringify({ ...config, sources: config.sources.map(toSourceSettings) }),
  ) as JsonObject,
  rules: configRules,
})

/** One form for all kinds: `kind`, and `from` for the location, which identify a source. */
function toSourceSettings(source: SourceConfig): JsonObject {
  if ('intents' in source) {
    const { intents, ...rest } = source
    const { agents, ...routing } = toMapping(intents)
    const from = toFrom(agents)
    return toPlain({ kind: 'intents', from: from || 'intents', ...rest, intents: routing })
  }
  if ('records' in source) {
    const { records, ...rest } = source
    return typeof records === 'string'
      ? toPlain({ kind: 'records', from: toFrom(records), ...rest })
      : toPlain({ kind: 'records', from: 'a records server', ...rest, records })
  }
  const [kind = '', location] =
    Object.entries(source).find(([key]) => locationKeys.includes(key)) ?? []
  const others = Object.entries(source).filter(([key]) => key !== kind)
  return toPlain({ kind, from: toFrom(location), ...Object.fromEntries(others) })
}

/** One spelling of each path. */
const toFrom = (location: unknown): string =>
  [location]
    .flat()
    .map((one) => String(one).replace(/^(?:\.\/+)+/, ''))
    .join(', ')

const locationKeys = ['manifest', 'definitions', 'openapi', 'source', 'service', 'module']

const toPlain = (settings: object): JsonObject =>
  dropUndefined(settings as Record<string, Json | undefined>)
