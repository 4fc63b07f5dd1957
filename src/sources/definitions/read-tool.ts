import type { Origin } from '../../capability/capability.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { LoadedModule } from '../loaded-module.ts'
import type { OperatorCategories } from './categories.ts'
import { applyRestrictions } from './dialects/apply-restrictions.ts'
import {
  type Dialect,
  type ForeignDefinition,
  isLeftOut,
  type Shape,
  type Translation,
} from './dialects/dialect.ts'
import { drawbridge } from './dialects/drawbridge.ts'
import { settleFields } from './dialects/settle-fields.ts'
import { isObject, isReadEverywhere, isText } from './dialects/shape.ts'
import { digestFunctions } from './digest-functions.ts'
import type { FoundDefinition } from './find-tools.ts'
import { type Findings, keysOf, type Place } from './findings.ts'
import type { ExportedFunction, Handlers } from './handlers.ts'
import { proposeCategory } from './propose-category.ts'
import { type Report, type ToolReading, toCapability } from './to-capability.ts'

/** What all tools of a source share while they are read. */
export interface ToolScope {
  readonly source: string
  readonly findings: Findings
  readonly handlers: Handlers
  readonly categories: OperatorCategories
}

export interface ToolPlace {
  readonly module: LoadedModule
  readonly origin: Origin
  readonly key: string | undefined
}

/** A found tool as a capability; what is missing or wrong is reported with its place. */
export function readTool(
  { shape, path, dialect, instantiated }: FoundDefinition,
  { module, origin, key }: ToolPlace,
  scope: ToolScope,
): (ToolReading & { readonly code: string }) | undefined {
  if (!dialect) return undefined
  const { findings, handlers } = scope
  let handler: ExportedFunction | undefined
  const read = dialect.toToolDefinition(shape, {
    key,
    findHandler: (tool) => {
      handler = handlers.find(tool, module)
      return handler?.run
    },
  })
  const name = nameOf(shape, read) ?? key
  const translation = isLeftOut(read) ? read : applyRestrictions(read)
  const place: Place = { module, path, name, keys: keysOf(shape) }
  if (isLeftOut(translation)) {
    const { leftOut, code, severity } = translation
    findings.add({ severity, code, message: `${quote(name)} is not served: ${leftOut}.`, place })
    return undefined
  }
  const { fields = {} } = translation
  const settled = settleFields(translation, shape, dialect)
  const report: Report = (severity, code, [field, ...rest], message, alike) =>
    findings.add({
      severity,
      code,
      message,
      place,
      field: field === undefined ? [] : [...toOwnField(field, fields), ...rest],
      alike,
    })
  for (const { code, severity, message, field, alike } of settled.remarks)
    findings.add({
      severity,
      code,
      message: `${quote(name)}: ${message}`,
      place,
      field: field ? [field] : [],
      alike,
    })
  if (instantiated !== undefined)
    report(
      'info',
      'class_instantiated',
      [],
      `${quote(name)} is an instance of ${instantiated}, which was created without arguments.`,
    )
  if (translation.definition.name === undefined) {
    const message =
      'A tool has no name. Export it under its name, or as the value of a key: { get_weather: … }.'
    report('error', 'definition_invalid', [], message)
    return undefined
  }
  if (isText(translation.definition.name) && hasOtherName(shape))
    report(
      'warning',
      'field_ignored',
      ['name'],
      `${quote(name)}: its name ${JSON.stringify(shape.name) ?? typeof shape.name} is not a string, so it is served under its key.`,
    )
  const described = withDescription(settled.definition, dialect, report)
  const definition = withCategory(described, scope, report)
  const reading = toCapability(definition, origin, report)
  if (!reading) return undefined
  const served = reading.capability.name
  if (definition.category === undefined && !declaresWrites(definition.effects))
    askForCategory(served, shape, dialect, report)
  reportUnknownFields(shape, translation, served, report)
  return { ...reading, code: toCode(module, shape, handler) }
}

/** The field in the module's own words. An author may call one `constructor`. */
const toOwnField = (field: string, fields: NonNullable<Translation['fields']>) =>
  (Object.hasOwn(fields, field) ? fields[field as keyof typeof fields] : undefined) ?? [field]

/** The digest of the code of a tool; a function of another module is part of it. */
function toCode(module: LoadedModule, shape: Shape, handler: ExportedFunction | undefined): string {
  const { code } = module
  if (code === undefined) return digestFunctions({ ...shape, handler: handler?.source })
  const handlerCode = handler?.module.code
  return handlerCode === undefined || handlerCode === code ? code : `${code}+${handlerCode}`
}

function nameOf(shape: Shape, translation: object): string | undefined {
  const { definition } = translation as Partial<Translation>
  const inner = isObject(shape.function) ? shape.function.name : undefined
  return [definition?.name, shape.name, inner].find(isText)
}

const hasOtherName = ({ name }: Shape): boolean => name !== undefined && !isText(name)

const quote = (name: string | undefined): string =>
  name === undefined ? 'A tool' : JSON.stringify(name)

/** Other libraries do without a description: the name is all that a model has then. */
function withDescription(definition: ForeignDefinition, dialect: Dialect, report: Report) {
  const { name, title, description } = definition
  const isMissing = description === undefined || description === ''
  if (dialect === drawbridge || !isText(name) || !isMissing) return definition
  report(
    'warning',
    'description_missing',
    ['description'],
    `${quote(name)} has no description, which is how a model knows when to use it. Add description: '…'.`,
  )
  return { ...definition, description: isText(title) ? title : name }
}

/**
 * The category from the operator's configuration, or from the definition. Without one, the effects are the
 * unfavourable ones of the unknown kind.
 */
function withCategory(
  definition: ForeignDefinition,
  { categories }: ToolScope,
  report: Report,
): ForeignDefinition {
  const { name, category: declared } = definition
  if (!isText(name)) return definition
  const exact = categories.exact(name)
  if (exact !== undefined) {
    if (declared !== undefined && declared !== exact)
      report(
        'info',
        'category_replaced',
        ['category'],
        `${quote(name)} declares the category ${String(declared)}; the configuration says ${exact}.`,
      )
    const isReplaced = declared !== undefined && declared !== exact
    return { ...definition, category: exact, ...(isReplaced && { effects: undefined }) }
  }
  if (declared !== undefined) return definition
  const matching = categories.matching(name)
  return matching === undefined ? definition : { ...definition, category: matching }
}

const declaresWrites = (effects: unknown): boolean =>
  isObject(effects) && typeof effects.writes === 'boolean'

/** The line to add for a tool that is served without a category. */
function askForCategory(name: string, shape: Shape, dialect: Dialect, report: Report): void {
  const method = isObject(shape.mcpRouting) ? shape.mcpRouting.method : undefined
  const { category, reason } = proposeCategory(name, method)
  const line = (dialect.toCategoryLine ?? toOwnLine)(category)
  report(
    'warning',
    'category_missing',
    [],
    `${quote(name)} has no category, so it is served as an irreversible write, and an identical call soon after is refused. Proposal: ${category}, because ${reason}. Add ${line} to the definition, or "${name}: ${category}" under categories of the source in drawbridge.yaml, where * in a name matches any characters.`,
    `category ${category} is proposed`,
  )
}

const toOwnLine = (category: string): string => `category: '${category}'`

/** Only of plain objects: the fields of instances are not all written by the author of the tool. */
function reportUnknownFields(
  shape: Shape,
  { reads }: Translation,
  name: string,
  report: Report,
): void {
  if (!isPlainObject(shape)) return
  for (const [field, value] of Object.entries(shape))
    if (value !== undefined && !reads.includes(field) && !isReadEverywhere(field, value))
      report(
        'warning',
        'field_ignored',
        [field],
        `${name} has an unknown field ${field}, which is ignored.`,
        `unknown field ${field}`,
      )
}
