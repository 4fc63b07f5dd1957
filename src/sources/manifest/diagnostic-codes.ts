import type { Diagnostic } from '../../capability/diagnostic.ts'

/** Everything that the source of a manifest can find, by the part of the manifest that it is about. */
export const diagnosticCodes = [
  // the file
  'manifest_unreadable',
  'yaml_ambiguous',
  'manifest_invalid',
  'field_unknown',
  'field_dropped',
  'secret_inside',
  // capabilities
  'id_duplicate',
  'id_long',
  'interface_missing',
  'permission_undeclared',
  'effect_unguarded',
  'effect_ungoverned',
  'key_needless',
  'cost_unbudgeted',
  'input_not_object',
  'schema_ambiguous',
  'type_unknown',
  'schema_unusable',
  'schema_inexact',
  'reference_unresolved',
  'route_missing',
  // interfaces
  'privilege_unproved',
  'egress_refused',
  'secret_unbound',
  'secret_unset',
  'secret_in_plain_text',
  'secret_binding',
  'probe_invalid',
  // composition
  'step_dangling',
  'step_duplicate',
  'graph_without_edges',
  'composition_missing',
  'composition_graph',
  'composition_broken',
  // handlers
  'handlers_broken',
  'handler_unmatched',
  'handler_invalid',
  // `check --live`
  'upstream_unreachable',
  'upstream_unauthorized',
  'upstream_invalid',
  'upstream_tool_missing',
  'upstream_schema_differs',
  'upstream_unchecked',
] as const

export type DiagnosticCode = (typeof diagnosticCodes)[number]

/** What one file can have hundreds of, each about another capability: printed as one line with a count. */
const countedCodes: ReadonlySet<string> = new Set<DiagnosticCode>([
  'field_dropped',
  'id_long',
  'interface_missing',
  'permission_undeclared',
  'effect_unguarded',
  'key_needless',
  'cost_unbudgeted',
  'input_not_object',
  'field_unknown',
  'route_missing',
  'handler_unmatched',
  'yaml_ambiguous',
  'effect_ungoverned',
  'schema_inexact',
])

/** The rest of the message, after the name it begins with, tells findings of these codes apart. */
const restBegins: Readonly<Record<string, string>> = {
  route_missing: ' ',
  schema_inexact: ' ',
  handler_unmatched: ': ',
}

/** Marks findings that differ only in the capability they are about. */
export function toCounted(diagnostic: Diagnostic): Diagnostic {
  const { code, pointer, message } = diagnostic
  if (!countedCodes.has(code)) return diagnostic
  const separator = restBegins[code]
  const rest = separator === undefined ? '' : message.slice(message.indexOf(separator))
  return { ...diagnostic, alike: `${code} ${pointer.replaceAll(/\/\d+/g, '/*')}${rest}` }
}
