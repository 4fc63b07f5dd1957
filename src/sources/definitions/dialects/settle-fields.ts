import { categories } from '../tool-definition.ts'
import { findApprovals, isKnownApprovalField } from './approval-fields.ts'
import { combineAnnotations, toDeclaredEffects } from './declared-effects.ts'
import type { Dialect, ForeignDefinition, Remark, Shape, Translation } from './dialect.ts'
import { drawbridge } from './drawbridge.ts'
import { fromParameterMap, isParameterMap } from './parameter-map.ts'
import { isObject } from './shape.ts'

interface Settled {
  readonly definition: ForeignDefinition
  readonly remarks: readonly Remark[]
}

/** The fields that authors add to tools of any dialect, as fields of our own definitions. */
export function settleFields(
  { definition, remarks = [] }: Translation,
  shape: Shape,
  dialect: Dialect,
): Settled {
  let settled: Settled = { definition, remarks }
  for (const settle of [settleApproval, settleLabels, settleAnnotations, settleSchema]) {
    const next = settle(settled.definition, shape, dialect)
    settled = { definition: next.definition, remarks: [...settled.remarks, ...next.remarks] }
  }
  return settled
}

/** What the function would return for a call is not known before an approval is asked for. */
function settleApproval(definition: ForeignDefinition, shape: Shape): Settled {
  if (typeof definition.requiresConfirmation !== 'function')
    return { definition, remarks: toAssumedApprovals(definition, shape) }
  const [field] = findApprovals(shape).find(([, value]) => typeof value === 'function') ?? []
  const subject = field ?? 'needsApproval'
  return {
    definition: { ...definition, requiresConfirmation: true },
    remarks: [
      {
        code: 'approval_always',
        severity: 'info',
        message: `${subject} is a function: every call needs an approval, whatever it would return.`,
        ...(field !== undefined && { field }),
        alike: `${subject} is a function`,
      },
    ],
  }
}

/** The author of an unknown field may have meant something else. */
function toAssumedApprovals(
  { requiresConfirmation }: ForeignDefinition,
  shape: Shape,
): readonly Remark[] {
  if (requiresConfirmation !== true) return []
  const fields = findApprovals(shape).map(([field]) => field)
  const [field] = fields
  if (field !== undefined && fields.some(isKnownApprovalField)) return []
  return [
    {
      code: 'approval_assumed',
      severity: 'info',
      message: `${field ?? 'its metadata'} is read as requiresConfirmation: true, so every call needs an approval.`,
      ...(field !== undefined && { field }),
      alike: `${field ?? 'metadata'} read as requiresConfirmation`,
    },
  ]
}

/** Fields that other libraries use for something else: they must not cost the tool. */
const labels: Readonly<Record<string, (value: unknown) => boolean>> = {
  version: (value) => typeof value === 'string',
  tags: (value) => Array.isArray(value) && value.every((tag) => typeof tag === 'string'),
  cost: isObject,
  timeout: (value) => typeof value === 'number',
}

function settleLabels(definition: ForeignDefinition, shape: Shape, dialect: Dialect): Settled {
  const remarks: Remark[] = []
  const settled: Record<string, unknown> = { ...definition }
  const { category } = definition
  const isOwn = dialect === drawbridge
  const isKnown = category === undefined || categories.some((known) => known === category)
  if (!isKnown && !(isOwn && shape.category !== undefined)) {
    settled.category = undefined
    remarks.push(toUnknownCategory(category))
  }
  if (!isOwn)
    for (const [field, isValid] of Object.entries(labels)) {
      const value = settled[field]
      if (value === undefined || isValid(value)) continue
      settled[field] = undefined
      remarks.push({
        code: 'field_ignored',
        severity: 'warning',
        message: `its field ${field} has another meaning than here, and is ignored.`,
        field,
        alike: `field ${field} with another meaning`,
      })
    }
  return { definition: settled, remarks }
}

const toUnknownCategory = (category: unknown): Remark => ({
  code: 'category_unknown',
  severity: 'warning',
  message: `its category ${JSON.stringify(category)} says nothing about effects.`,
  field: 'category',
  alike: `category ${JSON.stringify(category)}`,
})

/**
 * MCP's annotations declare the category where nothing else does. Where both do and contradict each
 * other, the unfavourable one counts.
 */
function settleAnnotations({ annotations, ...definition }: ForeignDefinition): Settled {
  const unchanged = { definition, remarks: [] }
  if (!Array.isArray(annotations)) return unchanged
  const hints = combineAnnotations(annotations.filter(isObject))
  const declared = toDeclaredEffects(hints)
  if (!declared) return unchanged
  const { category, consequenceLevel } = definition
  const own = isObject(definition.effects) ? definition.effects : {}
  const effects = { ...declared.effects, ...own }
  const reads = (kind: unknown) => kind === 'read' || kind === 'analysis'
  const isIrreversible =
    category === 'delete' || consequenceLevel === 'high' || own.irreversible === true
  if (reads(declared.category)) {
    const writes = own.writes === true || (category !== undefined && !reads(category))
    if (writes) return { definition, remarks: [toContradiction('readOnlyHint is true')] }
    return {
      definition: { ...definition, category: category ?? declared.category, effects },
      remarks: [],
    }
  }
  if (reads(category) || own.writes === false)
    return {
      definition: {
        ...definition,
        category: declared.category,
        effects: {
          ...effects,
          writes: true,
          irreversible: declared.effects.irreversible || isIrreversible,
        },
      },
      remarks: [toContradiction('they declare a write')],
    }
  if (hints.destructiveHint === false && isIrreversible)
    return {
      definition: {
        ...definition,
        category: category ?? declared.category,
        effects: { ...effects, irreversible: true },
      },
      remarks: [toContradiction('destructiveHint is false')],
    }
  if (hints.destructiveHint === true && own.irreversible === false)
    return {
      definition: {
        ...definition,
        category: category ?? declared.category,
        effects: { ...effects, irreversible: true },
      },
      remarks: [toContradiction('destructiveHint is true')],
    }
  return {
    definition: { ...definition, category: category ?? declared.category, effects },
    remarks: [],
  }
}

const toContradiction = (hint: string): Remark => ({
  code: 'annotations_contradict',
  severity: 'warning',
  message: `its annotations contradict its category or effects (${hint}). The unfavourable one counts.`,
  field: 'annotations',
  alike: 'annotations that contradict the category',
})

/** `{ city: { type: 'string' } }` in the place of a JSON Schema. */
function settleSchema(definition: ForeignDefinition): Settled {
  const { schema } = definition
  const isMap = isParameterMap(schema) && Object.keys(schema).length > 0
  return {
    definition: isMap ? { ...definition, schema: fromParameterMap(schema) } : definition,
    remarks: [],
  }
}
