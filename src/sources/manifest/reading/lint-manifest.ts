import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { schemaKeywords, schemaMapKeywords } from '../../../json/schema/keywords.ts'
import type { DiagnosticCode } from '../diagnostic-codes.ts'
import { toCost, toCurrency } from '../to-cost.ts'
import type { ManifestPath, ValidManifest } from './read-manifest.ts'

export type ReportLint = (
  severity: Diagnostic['severity'],
  code: DiagnosticCode,
  path: ManifestPath,
  message: string,
) => void

/**
 * Reports problems that the v0.1 schema accepts. Messages of warnings are part of the output of `project`:
 * a new wording changes bytes that users keep under version control.
 */
export function lintManifest(manifest: ValidManifest, report: ReportLint): void {
  for (const rule of rules) rule(manifest, report)
}

type Rule = (manifest: ValidManifest, report: ReportLint) => void

const maxIdLength = 64

const idsAreNames: Rule = ({ capabilities }, report) => {
  const firstIndexById = new Map<string, number>()
  for (const { id, index } of capabilities) {
    const path = ['capabilities', index, 'id']
    const firstIndex = firstIndexById.get(id)
    if (firstIndex === undefined) firstIndexById.set(id, index)
    else {
      const message = `${id} is also the id of /capabilities/${firstIndex}; neither is served. Rename one.`
      report('error', 'id_duplicate', path, message)
    }
    if (id.length > maxIdLength) {
      const message = `An id of ${id.length} characters is longer than the ${maxIdLength} that every client accepts; it is served under a shorter name.`
      report('warning', 'id_long', path, message)
    }
  }
}

const protocolsHaveInterfaces: Rule = ({ capabilities, interfaces }, report) => {
  const protocolsWithInterface = new Set<string>(interfaces.map(({ protocol }) => protocol))
  // Of an API that a document describes, as `import openapi` drafts it: the server speaks MCP for it.
  const hasDocument = interfaces.some(
    (one) => one.protocol === 'HTTP' && one.schema_ref !== undefined,
  )
  for (const { id, protocols, index } of capabilities)
    for (const [at, protocol] of protocols.entries()) {
      if (protocolsWithInterface.has(protocol) || protocol === 'INTERNAL') continue
      if (protocol === 'MCP' && hasDocument && protocols.includes('HTTP')) continue
      const message = `${id} is offered over ${protocol}, and no interface speaks it.`
      report(
        'warning',
        'interface_missing',
        ['capabilities', index, 'protocols', at],
        `${message} Add one, or take the protocol out.`,
      )
    }
}

const permissionsAreRequired: Rule = ({ capabilities, requirements }, report) => {
  const declaredPermissions = new Set(requirements?.permissions ?? [])
  for (const { id, permissions = [], side_effect_level, index } of capabilities) {
    for (const [at, permission] of permissions.entries()) {
      if (declaredPermissions.has(permission)) continue
      const message = `${id} needs ${permission}, which requirements.permissions does not list.`
      report(
        'warning',
        'permission_undeclared',
        ['capabilities', index, 'permissions', at],
        message,
      )
    }
    if (side_effect_level === 'none' || permissions.length > 0) continue
    const message = `${id} has side effects and asks for no permission: everybody who may connect may call it.`
    report('warning', 'effect_unguarded', ['capabilities', index], message)
  }
}

const privilegeIsProved: Rule = ({ interfaces }, report) => {
  for (const { name, auth, privileged, index } of interfaces) {
    if (!privileged || auth !== 'none') continue
    const message = `${name} is privileged and has no authentication. Set auth to a value other than none.`
    report('error', 'privilege_unproved', ['interfaces', index, 'auth'], message)
  }
}

const stepsExist: Rule = ({ composition, declaredIds }, report) => {
  if (!composition) return
  const seen = new Set<string>()
  for (const [at, { id, capability_ref }] of (composition.steps ?? []).entries()) {
    const path = ['composition', 'steps', at]
    if (!declaredIds.has(capability_ref))
      report(
        'error',
        'step_dangling',
        [...path, 'capability_ref'],
        `Step ${id} runs ${capability_ref}, which is not a capability here.`,
      )
    if (seen.has(id))
      report('error', 'step_duplicate', [...path, 'id'], `The step id ${id} is used twice.`)
    seen.add(id)
  }
  if (composition.type === 'graph')
    report(
      'warning',
      'graph_without_edges',
      ['composition', 'type'],
      'v0.1 has no field for the edges of a graph: it is shown, and cannot be run.',
    )
}

const keysAreForEffects: Rule = ({ capabilities }, report) => {
  for (const { id, side_effect_level, idempotency_key_required, index } of capabilities) {
    if (side_effect_level !== 'none' || !idempotency_key_required) continue
    const message = `${id} has no side effects, so the idempotency key it requires is ignored.`
    report('info', 'key_needless', ['capabilities', index, 'idempotency_key_required'], message)
  }
}

const costsAreBudgeted: Rule = (manifest, report) => {
  const { per_task_limit, monthly_limit } = manifest.requirements?.budget ?? {}
  if (per_task_limit === undefined && monthly_limit === undefined) return
  const currency = toCurrency(manifest)
  for (const capability of manifest.capabilities) {
    const { id, index } = capability
    const cost = toCost(manifest, capability)
    if (!cost || cost.amount === 0 || cost.unit === currency) continue
    const message = `The cost of ${id} is in ${cost.unit}, and requirements.budget is in ${currency}: calls of ${id} are not charged to it and not limited by it. Give the cost in ${currency}, or add a budget in ${cost.unit} with policy.rules.`
    report('warning', 'cost_unbudgeted', ['capabilities', index, 'cost', 'unit'], message)
  }
}

const schemasAreUsable: Rule = ({ capabilities }, report) => {
  for (const { id, input_schema, output_schema, index } of capabilities) {
    const base = ['capabilities', index]
    if ('type' in input_schema && input_schema.type !== 'object' && !('$ref_uri' in input_schema)) {
      const message = `The input of ${id} is ${article(String(input_schema.type))}. Clients only send objects: it is served as the argument "value".`
      report('warning', 'input_not_object', [...base, 'input_schema', 'type'], message)
    }
    for (const [key, schema] of Object.entries({ input_schema, output_schema })) {
      if ('$ref_uri' in schema && Object.keys(schema).length > 1)
        report(
          'error',
          'schema_ambiguous',
          [...base, key],
          `The ${key} of ${id} has both $ref_uri and a schema; ${id} is not served. Keep $ref_uri alone, or remove it.`,
        )
      checkTypes(schema, [...base, key], report)
    }
  }
}

const article = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`)

const types = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])

function checkTypes(schema: unknown, path: ManifestPath, report: ReportLint): void {
  if (Array.isArray(schema)) {
    for (const [index, item] of schema.entries()) checkTypes(item, [...path, index], report)
    return
  }
  if (!isPlainObject(schema)) return
  for (const type of [schema.type].flat())
    if (type !== undefined && !types.has(String(type)))
      report(
        'error',
        'type_unknown',
        [...path, 'type'],
        `${JSON.stringify(type)} is not a JSON Schema type. Use one of: ${[...types].join(', ')}.`,
      )
  for (const [key, item] of Object.entries(schema)) {
    if (schemaKeywords.has(key)) checkTypes(item, [...path, key], report)
    else if (schemaMapKeywords.has(key) && isPlainObject(item))
      for (const [name, child] of Object.entries(item))
        checkTypes(child, [...path, key, name], report)
  }
}

const rules: readonly Rule[] = [
  idsAreNames,
  protocolsHaveInterfaces,
  permissionsAreRequired,
  privilegeIsProved,
  stepsExist,
  keysAreForEffects,
  costsAreBudgeted,
  schemasAreUsable,
]
