import type { Fault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import { toRootNode, walkSchema } from '../../json/schema/walk-schema.ts'

/** What distinguishes the drafts here: up to draft-07, keywords beside `$ref` do not count. */
export type Draft = 'up-to-07' | '2019-09' | '2020-12'

/** The draft that `$schema` names; without it, 2020-12 unless an idiom occurs that only older drafts have. */
export function readDraft(schema: JsonObject, text: string): Draft | Fault {
  const { $schema } = schema
  if ($schema === undefined)
    return mayHaveIdiom.test(text) && hasOlderIdiom(schema) ? 'up-to-07' : '2020-12'
  const [, name] = /^https?:\/\/json-schema\.org\/(.+?)\/?#?$/.exec(String($schema)) ?? []
  const draft = drafts.get(name ?? '')
  if (draft) return draft
  return {
    fault: `the schema dialect ${JSON.stringify($schema)} is not supported; use JSON Schema 2020-12`,
  }
}

const drafts: ReadonlyMap<string, Draft> = new Map([
  ...['03', '04', '06', '07'].map((number): [string, Draft] => [
    `draft-${number}/schema`,
    'up-to-07',
  ]),
  ['schema', '2020-12'],
  ['draft/2019-09/schema', '2019-09'],
  ['draft/2020-12/schema', '2020-12'],
])

/** Saves walking most schemas. The text of a schema can also match in its data. */
const mayHaveIdiom =
  /"items":\[|"(?:exclusiveM(?:in|ax)imum|required)":[tf]|"any"|"type":[[{][^\]]*\{|"(?:dependencies|divisibleBy|extends|disallow)":/

const hasOlderIdiom = (root: JsonObject): boolean => {
  for (const { schema } of walkSchema(toRootNode(root)))
    if (idioms.some((isIdiom) => isIdiom(schema))) return true
  return false
}

const idioms: readonly ((schema: JsonObject) => boolean)[] = [
  ({ items }) => Array.isArray(items),
  ({ exclusiveMinimum, exclusiveMaximum }) =>
    typeof exclusiveMinimum === 'boolean' || typeof exclusiveMaximum === 'boolean',
  ({ required }) => typeof required === 'boolean',
  ({ type }) => [type].flat().some((one) => one === 'any' || typeof one === 'object'),
  (schema) => olderKeywords.some((keyword) => Object.hasOwn(schema, keyword)),
]

const olderKeywords = ['dependencies', 'divisibleBy', 'extends', 'disallow']
