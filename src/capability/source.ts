import type { Capability, Prompt, View } from './capability.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { JsonObject } from './json.ts'

/** Where capabilities come from. */
export interface Source {
  readonly id: string
  /**
   * What it offers now. Never throws for one bad capability: that one is left out and said. A source
   * that answers without a promise is read when somebody looks, however often it announces.
   */
  read(): Reading | Promise<Reading>
  /** Announces that a new reading is due, or that a view has a new value. Returns how to stop. */
  watch?(announce: (change: Change) => void): () => void
  close?(): Promise<void>
}

/** All a source offers at one moment. */
export interface Reading {
  readonly capabilities: readonly Capability[]
  readonly views?: readonly View[]
  readonly prompts?: readonly Prompt[]
  readonly diagnostics?: readonly Diagnostic[]
  readonly about?: About
}

/** What a source says of itself as a whole. */
export interface About {
  readonly name: string
  readonly version: string
  readonly title?: string
  readonly description?: string
  /** What has no place in any capability, and only travels. */
  readonly extension: JsonObject
}

export type Change = { readonly kind: 'reading' } | { readonly kind: 'view'; readonly uri: string }
