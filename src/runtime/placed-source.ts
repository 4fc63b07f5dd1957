import type { Source } from '../capability/source.ts'
import type { TokenGate } from '../sources/records/grants/token-gate.ts'

/** A source and the mount it is served on. `createDrawbridge` accepts it wherever it accepts a source. */
export interface PlacedSource {
  /** The source itself. */
  readonly source: Source
  /** Path of the mount, such as `/mcp/billing`. Each mount is a separate MCP server. */
  readonly mount: string
  /** Prefix of all served names: with `billing`, `refund` is served as `billing_refund`. Default: none. */
  readonly prefix?: string
  /** Instructions for the model, used when the server has none of its own. */
  readonly instructions?: string
}

/** A placed source with the parts that Drawbridge's own sources add. */
export interface OpenedSource extends PlacedSource {
  /** Authenticates all callers of the mount, instead of `http.tokens`. */
  readonly gate?: TokenGate
  /** Must be the only source on its mount. */
  readonly isExclusive?: true
  /** Sets the listener for operational errors: the source may be opened before the server exists. */
  readonly reportTo?: (onOperationalError: (error: unknown) => void) => void
}
