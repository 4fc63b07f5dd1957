import type { Capability, Prompt, View } from './capability.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { JsonObject } from './json.ts'
import type { TrustSurface } from './trust-surface.ts'

/** Provides capabilities, views and prompts, and announces when they change. */
export interface Source {
  /** Unique in the configuration; diagnostics and audit entries name it. */
  readonly id: string
  /**
   * Everything the source offers now. One bad capability must not throw: leave it out and add a
   * diagnostic. A synchronous result is read lazily, however often the source announces.
   */
  read(): Reading | Promise<Reading>
  /** Starts announcing changes. Returns an unsubscribe function. */
  watch?(announce: (change: Change) => void): () => void
  /** Releases resources, once the last call has ended. */
  close?(): Promise<void>
}

/**
 * Everything a source offers at one moment. Entries that did not change should be the same objects
 * as in the previous reading: the catalog compares by identity.
 */
export interface Reading {
  /** MCP tools. */
  readonly capabilities: readonly Capability[]
  /** MCP resources and resource templates. */
  readonly views?: readonly View[]
  /** MCP prompts. */
  readonly prompts?: readonly Prompt[]
  /** Problems found while reading, such as capabilities that were left out. */
  readonly diagnostics?: readonly Diagnostic[]
  /** `file:line:column` of a JSON pointer into the source; diagnostics of others about it get their `at` from it. */
  readonly positionOf?: (pointer: string) => string | undefined
  /** Name and version of the source, used for the server when it is the only one. */
  readonly about?: About
  /** Settings of the source as a whole that `diff` compares. Default: what `about` has. */
  readonly surface?: TrustSurface
}

/** Describes a source as a whole. */
export interface About {
  /** Identifier, such as a package name. */
  readonly name: string
  /** Version of what the source describes. */
  readonly version: string
  /** Display name for people. */
  readonly title?: string
  /** Description for people. */
  readonly description?: string
  /** Server-level metadata that belongs to no single capability. */
  readonly extension: JsonObject
  /** Parts of it that a specification of the source gives a server extension of their own, by its name. */
  readonly namedExtensions?: Readonly<Record<string, JsonObject>>
}

/** `reading`: a new reading is due. `view`: the view at this URI has a new value. */
export type Change = { readonly kind: 'reading' } | { readonly kind: 'view'; readonly uri: string }
