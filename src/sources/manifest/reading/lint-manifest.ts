import type { Diagnostic } from '../../../capability/diagnostic.ts'
import { isPlainObject } from '../../../capability/json.ts'
import { namedSchemaKeywords, schemaKeywords } from '../schemas/schema-keywords.ts'
import type { ManifestPath, ValidManifest } from './read-manifest.ts'

export type ReportLint = (
  severity: Diagnostic['severity'],
  code: string,
  path: ManifestPath,
  message: string,
) => void

/** What the schema of v0.1 lets through and a reader would want to know. */
export function lintManifest(manifest: ValidManifest, remark: ReportLint): void {
  for (const rule of rules) rule(manifest, remark)
}

type Rule = (manifest: ValidManifest, remark: ReportLint) => void

const longestName = 64

const idsAreNames: Rule = ({ capabilities }, remark) => {
  const first = new Map<string, number>()
  for (const { id, index } of capabilities) {
    const path = ['capabilities', index, 'id']
    const earlier = first.get(id)
    if (earlier === undefined) first.set(id, index)
    else {
      const message = `${id} is also the id of /capabilities/${earlier}; neither is served. Rename one.`
      remark('error', 'id_duplicate', path, message)
    }
    if (id.length > longestName) {
      const message = `An id of ${id.length} characters is longer than the ${longestName} that every client accepts; it is served under a shorter name.`
      remark('warning', 'id_long', path, message)
    }
  }
}

const protocolsHaveInterfaces: Rule = ({ capabilities, interfaces }, remark) => {
  const spoken = new Set<string>(interfaces.map(({ protocol }) => protocol))
  for (const { id, protocols, index } of capabilities)
    for (const [at, protocol] of protocols.entries()) {
      if (spoken.has(protocol) || protocol === 'INTERNAL') continue
      const message = `${id} is offered over ${protocol}, and no interface speaks it.`
      remark(
        'warning',
        'interface_missing',
        ['capabilities', index, 'protocols', at],
        `${message} Add one, or take the protocol out.`,
      )
    }
}

const permissionsAreRequired: Rule = ({ capabilities, requirements }, remark) => {
  const declared = new Set(requirements?.permissions ?? [])
  for (const { id, permissions = [], side_effect_level, index } of capabilities) {
    for (const [at, permission] of permissions.entries()) {
      if (declared.has(permission)) continue
      const message = `${id} needs ${permission}, which requirements.permissions does not list.`
      remark(
        'warning',
        'permission_undeclared',
        ['capabilities', index, 'permissions', at],
        message,
      )
    }
    if (side_effect_level === 'none' || permissions.length > 0) continue
    const message = `${id} has side effects and asks for no permission: everybody who may connect may call it.`
    remark('warning', 'effect_unguarded', ['capabilities', index], message)
  }
}

const privilegeIsProved: Rule = ({ interfaces }, remark) => {
  for (const { name, auth, privileged, index } of interfaces) {
    if (!privileged || auth !== 'none') continue
    const message = `${name} is privileged and lets everybody in. Say how callers prove who they are.`
    remark('error', 'privilege_unproved', ['interfaces', index, 'auth'], message)
  }
}

const stepsExist: Rule = ({ composition, capabilities }, remark) => {
  if (!composition) return
  const known = new Set(capabilities.map(({ id }) => id))
  const seen = new Set<string>()
  for (const [at, { id, capability_ref }] of (composition.steps ?? []).entries()) {
    const path = ['composition', 'steps', at]
    if (!known.has(capability_ref))
      remark(
        'error',
        'step_dangling',
        [...path, 'capability_ref'],
        `Step ${id} runs ${capability_ref}, which is not a capability here.`,
      )
    if (seen.has(id))
      remark('error', 'step_duplicate', [...path, 'id'], `There are two steps ${id}.`)
    seen.add(id)
  }
  if (composition.type === 'graph')
    remark(
      'warning',
      'graph_without_edges',
      ['composition', 'type'],
      'v0.1 has no field for the edges of a graph: it is shown, and cannot be run.',
    )
}

const keysAreForEffects: Rule = ({ capabilities }, remark) => {
  for (const { id, side_effect_level, idempotency_key_required, index } of capabilities) {
    if (side_effect_level !== 'none' || !idempotency_key_required) continue
    const message = `${id} has no side effects, so the key it requires is not asked for.`
    remark('info', 'key_needless', ['capabilities', index, 'idempotency_key_required'], message)
  }
}

const schemasAreUsable: Rule = ({ capabilities }, remark) => {
  for (const { id, input_schema, output_schema, index } of capabilities) {
    const base = ['capabilities', index]
    if ('type' in input_schema && input_schema.type !== 'object' && !('$ref_uri' in input_schema)) {
      const message = `The input of ${id} is ${article(String(input_schema.type))}. Clients only send objects: it is served as the argument "value".`
      remark('warning', 'input_not_object', [...base, 'input_schema', 'type'], message)
    }
    for (const [key, schema] of Object.entries({ input_schema, output_schema })) {
      if ('$ref_uri' in schema && Object.keys(schema).length > 1)
        remark(
          'error',
          'schema_ambiguous',
          [...base, key],
          `The ${key} of ${id} is a reference and a schema at once; it is left out. Keep $ref_uri alone, or take it out.`,
        )
      findTypes(schema, [...base, key], remark)
    }
  }
}

const article = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`)

const types = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])

function findTypes(schema: unknown, path: ManifestPath, remark: ReportLint): void {
  if (Array.isArray(schema)) {
    for (const [index, item] of schema.entries()) findTypes(item, [...path, index], remark)
    return
  }
  if (!isPlainObject(schema)) return
  for (const type of [schema.type].flat())
    if (type !== undefined && !types.has(String(type)))
      remark(
        'error',
        'type_unknown',
        [...path, 'type'],
        `${JSON.stringify(type)} is no type of JSON Schema. There is: ${[...types].join(', ')}.`,
      )
  for (const [key, item] of Object.entries(schema)) {
    if (schemaKeywords.has(key)) findTypes(item, [...path, key], remark)
    else if (namedSchemaKeywords.has(key) && isPlainObject(item))
      for (const [name, one] of Object.entries(item)) findTypes(one, [...path, key, name], remark)
  }
}

const rules: readonly Rule[] = [
  idsAreNames,
  protocolsHaveInterfaces,
  permissionsAreRequired,
  privilegeIsProved,
  stepsExist,
  keysAreForEffects,
  schemasAreUsable,
]
