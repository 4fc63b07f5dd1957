/** What a schema may contain when it is shown to clients. What is enforced never changes. */
interface SchemaProfile {
  /** `merge`: unions at the root of an input become one object with the properties of all variants. */
  readonly rootUnions: 'keep' | 'merge'
  /**
   * `inline`: references are replaced by their schemas; recursion, and what would grow too much, stays
   * under `#/$defs`. `cut`: no reference is left; recursion ends after a few levels.
   */
  readonly references: 'keep' | 'inline' | 'cut'
}

/**
 * The profiles of `mounts: { /mcp: { schemas: … } }`. A profile belongs to a mount, not to the name that
 * a client declares: names are not verified and change, and a list that depends on them must not be
 * kept in a shared cache.
 */
// biome-ignore format: table
export const schemaProfiles = {
  /** For clients that read all of JSON Schema 2020-12. */
  full:     { rootUnions: 'keep',  references: 'keep' },
  /**
   * The default. The APIs of Anthropic, OpenAI and Bedrock refuse a union at the root, and several hosts
   * (Claude Desktop, VS Code, Cursor, Zed) do not follow references or only those to `#/$defs`.
   */
  portable: { rootUnions: 'merge', references: 'inline' },
  /** For hosts that fail at any reference, also of a recursive schema. */
  inline:   { rootUnions: 'merge', references: 'cut' },
} as const satisfies Record<string, SchemaProfile>

export type SchemaProfileName = keyof typeof schemaProfiles
