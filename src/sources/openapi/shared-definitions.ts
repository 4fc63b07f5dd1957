import type { Json, JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { DocumentPath } from '../../openapi/document.ts'
import { removeSecrets } from '../../openapi/remove-secrets.ts'

interface CheckedDefinition {
  readonly schema: Json
  /** Where secrets were removed. */
  readonly removed: readonly DocumentPath[]
  /** Of the JSON. */
  readonly length: number
}

/** What is known of the definitions that operations share: each is examined once. */
export class SharedDefinitions {
  readonly #checked = new WeakMap<object, CheckedDefinition>()

  /** The definitions without secrets. */
  withoutSecrets(definitions: JsonObject, onRemoved: (path: DocumentPath) => void): JsonObject {
    const clean: Record<string, Json> = {}
    for (const [name, definition] of Object.entries(definitions)) {
      const { schema, removed } = this.#check(definition)
      clean[name] = schema
      for (const path of removed) onRemoved([name, ...path])
    }
    return clean
  }

  /** Characters of the definitions as JSON. */
  lengthOf(definitions: JsonObject): number {
    return Object.values(definitions).reduce<number>(
      (sum, definition) => sum + this.#check(definition).length,
      0,
    )
  }

  #check(definition: Json | undefined): CheckedDefinition {
    if (!isPlainObject(definition)) return { schema: definition ?? true, removed: [], length: 5 }
    let checked = this.#checked.get(definition)
    if (!checked) {
      const removed: DocumentPath[] = []
      // Below a name of its own, as in `$defs`.
      const { schema } = removeSecrets({ schema: definition as JsonObject }, (path) =>
        removed.push(path.slice(1)),
      )
      checked = { schema, removed, length: JSON.stringify(schema).length }
      this.#checked.set(definition, checked)
      this.#checked.set(schema, checked)
    }
    return checked
  }
}

/** The definitions that a schema lists. */
export const definitionsOf = ({ $defs }: JsonObject): JsonObject =>
  isPlainObject($defs) ? ($defs as JsonObject) : {}
