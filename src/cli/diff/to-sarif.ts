import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { byCodeUnit } from '../../json/by-code-unit.ts'
import { digestJson } from '../../json/digest-json.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isLoadError, type MountedDifference } from '../../runtime/diff-bridges.ts'
import { version } from '../version.ts'
import { toTitle } from './to-text.ts'

export interface SarifOptions {
  readonly cwd: string
  /** The file of the new state, for differences whose position is not known. */
  readonly newFile: string
}

/** The differences as a log of SARIF 2.1.0, for code scanning. */
export function toSarif(
  differences: readonly MountedDifference[],
  { cwd, newFile }: SarifOptions,
): object {
  const kinds = [...new Set(differences.map(({ kind }) => kind))].sort(byCodeUnit)
  const fallback = path.relative(cwd, newFile).split(path.sep).join('/')
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'drawbridge', version, rules: kinds.map(toRule) } },
        columnKind: 'utf16CodeUnits',
        results: differences.map((one) => ({
          ruleId: one.kind,
          ruleIndex: kinds.indexOf(one.kind),
          level: toLevel(one),
          message: { text: `${toTitle(one)}: ${one.message}` },
          ...toLocations(one, { cwd, fallback }),
          partialFingerprints: {
            'drawbridgeDifference/v1': digestJson([
              one.noun,
              one.mount,
              one.capability,
              one.pointer,
              one.kind,
              one.message,
            ]),
          },
          properties: dropUndefined({
            effect: one.effect,
            breaking: one.breaking,
            review: one.review,
            mount: one.mount,
            pointer: one.pointer,
          }),
        })),
      },
    ],
  }
}

const toRule = (kind: string) => {
  const words = kind.replaceAll('_', ' ')
  return { id: kind, shortDescription: { text: words.charAt(0).toUpperCase() + words.slice(1) } }
}

function toLevel(difference: MountedDifference): 'error' | 'warning' | 'note' {
  if (difference.effect === 'widening' || isLoadError(difference)) return 'error'
  return difference.breaking ? 'warning' : 'note'
}

interface LocationOptions {
  readonly cwd: string
  readonly fallback: string
}

/** Code scanning shows files of the repository only: a place in the old state, elsewhere, is a related one. */
function toLocations(difference: MountedDifference, { cwd, fallback }: LocationOptions) {
  const { at = fallback } = difference
  const logicalLocations = [{ fullyQualifiedName: `${toTitle(difference)}${difference.pointer}` }]
  const shown = isOutside(at) ? fallback : at
  const related = shown === at ? [] : [{ physicalLocation: toPhysicalLocation(at, cwd) }]
  return {
    locations: [{ physicalLocation: toPhysicalLocation(shown, cwd), logicalLocations }],
    ...dropUndefined({ relatedLocations: related.length > 0 ? related : undefined }),
  }
}

function toPhysicalLocation(at: string, cwd: string) {
  const [, file = at, line, column] = /^(.*?)(?::(\d+))?(?::(\d+))?$/s.exec(at) ?? []
  const position = { startLine: toNumber(line), startColumn: toNumber(column) }
  return dropUndefined({
    artifactLocation: toArtifact(file, cwd),
    region: line === undefined ? undefined : dropUndefined(position),
  })
}

const toNumber = (digits: string | undefined) => (digits === undefined ? undefined : Number(digits))

const isOutside = (file: string): boolean =>
  file.startsWith('../') || path.isAbsolute(file) || isUrl(file)

/** A document that was read from the network. */
const isUrl = (text: string): boolean => /^https?:/.test(text)

/** Addresses are relative to the repository; those of other files are absolute. */
const toArtifact = (file: string, cwd: string) =>
  isOutside(file)
    ? { uri: isUrl(file) ? file : pathToFileURL(path.resolve(cwd, file)).href }
    : { uri: file.split('/').map(encodeURIComponent).join('/'), uriBaseId: '%SRCROOT%' }
