import type { Capability } from '../../capability/capability.ts'
import { byCodeUnit } from '../../json/by-code-unit.ts'
import type { Entry, Snapshot } from '../snapshot.ts'
import { toCapabilitySurface } from './capability-settings.ts'
import { diffRules } from './diff-rules.ts'
import { diffContracts } from './diff-schemas.ts'
import { diffSettings } from './diff-settings.ts'
import { diffSources } from './diff-sources.ts'
import type { Difference, Finding, Noun } from './difference.ts'

/** All differences between two snapshots, in a deterministic order; those of sources as a whole come first. */
export function diffSnapshots(before: Snapshot, after: Snapshot): Difference[] {
  const nouns: readonly (readonly [Noun, Entries, Entries])[] = [
    ['capability', before.capabilities, after.capabilities],
    ['view', toViews(before), toViews(after)],
    ['prompt', before.prompts, after.prompts],
  ]
  return [
    ...diffSources(before.sources, after.sources),
    ...nouns.flatMap(([noun, old, current]) => diffEntries(noun, old, current)),
  ]
}

type Entries = ReadonlyMap<string, Entry<Capability>>

const toViews = ({ views, templates }: Snapshot): Entries =>
  new Map([...views, ...templates.map((entry) => [entry.capability.uri, entry] as const)])

function diffEntries(noun: Noun, before: Entries, after: Entries): Difference[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort(byCodeUnit)
  return names.flatMap((capability) =>
    diffCapabilities(noun, before.get(capability)?.capability, after.get(capability)?.capability)
      .sort(byPointer)
      .map((finding) => ({ noun, capability, ...finding })),
  )
}

const byPointer = (a: Finding, b: Finding): number =>
  byCodeUnit(a.pointer, b.pointer) || byCodeUnit(a.kind, b.kind) || byCodeUnit(a.message, b.message)

function diffCapabilities(
  noun: Noun,
  before: Capability | undefined,
  after: Capability | undefined,
): Finding[] {
  if (before && after)
    return [
      ...diffMetadata(before, after),
      ...diffContracts(before, after),
      ...diffRules(before, after),
      ...diffSettings(toCapabilitySurface(before), toCapabilitySurface(after)),
    ]
  if (after)
    return [
      {
        pointer: '',
        kind: `${noun}_added`,
        effect: 'widening',
        breaking: false,
        message: `It was added${after.effects.writes ? ', and has side effects' : ''}${after.rules.approval ? '; every call requires approval' : ''}.`,
      },
    ]
  return [
    {
      pointer: '',
      kind: `${noun}_removed`,
      effect: 'narrowing',
      breaking: true,
      message: 'It was removed.',
    },
  ]
}

const metadata = ['title', 'description', 'hidden', 'mimeType'] as const

type WithMimeType = Capability & { readonly mimeType?: string }

const diffMetadata = (before: WithMimeType, after: WithMimeType): Finding[] =>
  metadata.flatMap((part) =>
    before[part] === after[part]
      ? []
      : [
          {
            pointer: `/${part}`,
            kind: `${part}_changed`,
            effect: 'neutral' as const,
            breaking: false,
            message: `The ${part} changed from ${show(before[part])} to ${show(after[part])}.`,
          },
        ],
  )

const maxLength = 80

function show(value: unknown): string {
  if (value === undefined) return 'absent'
  const text = JSON.stringify(value)
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}
