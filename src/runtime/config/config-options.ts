import type { Approvers, Cost } from '../../capability/rules.ts'

// Written out instead of inferred from `config-shape.ts`: comments on a schema do not reach an editor.
// `test/definitions/types.test.ts` keeps both the same.

/** Options of one mount, as under `mounts` in `drawbridge.yaml`. */
export interface MountOptions {
  /**
   * `portable`: names that do not match `^[A-Za-z0-9_-]{1,64}$` are rewritten, because some hosts reject
   * them. `literal`: names are served as declared. Default: `portable`.
   */
  readonly names?: 'portable' | 'literal'
  /**
   * The schemas that clients see; what is enforced stays the same. `portable`: without unions at the root
   * of an input, and with references only where a schema is recursive or large. `inline`: without any
   * reference. `full`: as declared. Default: `portable`.
   */
  readonly schemas?: 'full' | 'portable' | 'inline'
}

/** Rules and limits that the operator adds, as under `policy` in `drawbridge.yaml`. */
export interface PolicyOptions {
  /** `observe` lets calls pass and only records what would be refused or asked. Default: `enforce`. */
  readonly mode?: 'enforce' | 'observe'
  /** Rules for capabilities by name. They are added to the capability's own rules. Default: none. */
  readonly rules?: readonly RuleOptions[]
  /**
   * Hidden characters in names and descriptions, such as zero-width and bidirectional controls. `strip`
   * removes them, `refuse` leaves the capability out, `keep` serves them. Default: `strip`.
   */
  readonly text?: 'strip' | 'refuse' | 'keep'
  /** Idempotency keys. */
  readonly keys?: KeyOptions
  /** Detection of repeated calls with the same arguments but no or another idempotency key. */
  readonly duplicates?: DuplicateOptions
  /** The log of routed intents. */
  readonly executions?: ExecutionOptions
  /** How long an approval can be given and used. */
  readonly approvals?: ApprovalOptions
  /** Servers that calls to agents may reach. Default: see `docs/governance.md`. */
  readonly egress?: EgressOptions
  /** Limits of every call. */
  readonly limits?: LimitOptions
}

/** Destinations: hosts (`api.example.com`, `*.example.com`, `*`), addresses and CIDR blocks (`10.0.0.0/8`). */
export interface EgressOptions {
  /** The only destinations that may be reached. Default: all but private addresses behind public names. */
  readonly allow?: readonly string[]
  /** Destinations that may not be reached, whatever `allow` says. Default: none. */
  readonly deny?: readonly string[]
}

/** How long idempotency keys are remembered. */
export interface KeyOptions {
  /** Seconds for which a key and its result are remembered. Default: 86,400 (24 hours). */
  readonly window?: number
}

/** How long an identical call counts as a possible duplicate. */
export interface DuplicateOptions {
  /** Seconds after a call in which an identical one is refused; 0 turns this off. Default: 60. */
  readonly window?: number
}

/** How long routed intents are logged. */
export interface ExecutionOptions {
  /** Seconds for which an execution is kept in the log. Default: 2,592,000 (30 days). */
  readonly keep?: number
}

/** How long approvals are valid. */
export interface ApprovalOptions {
  /** Seconds for an approval in the caller's own client. Default: 600. */
  readonly asked?: number
  /** Seconds for an approval by other means, such as `drawbridge approvals`. Default: 3,600. */
  readonly pending?: number
}

/** Limits of every call. */
export interface LimitOptions {
  /** Milliseconds until a call times out, for capabilities without a timeout. Default: 30,000. */
  readonly timeout?: number
  /** Maximum size of one result, in characters of its JSON form. Default: 4,194,304. */
  readonly resultSize?: number
  /** Maximum number of calls of one caller that run at the same time. Default: 256. */
  readonly concurrentCalls?: number
}

/**
 * A rule for all capabilities that it matches. It makes their own rules stricter. For `cost`, the
 * last matching rule applies.
 */
export interface RuleOptions {
  /** Served names, or patterns in which `*` stands for any characters. One match is enough. */
  readonly match: string | readonly string[]
  /** Matches only capabilities that write (`true`) or that do not (`false`). Default: both. */
  readonly writes?: boolean
  /** Scopes that the caller must hold, all of them. */
  readonly permissions?: readonly string[]
  /** A human must approve every call. Default: `true` with `approvers`, else `false`. */
  readonly approval?: boolean
  /**
   * `others`: any approver but the caller. `self`: the caller too. A list of subjects: only these, and
   * never the caller. Default: the person at the client; elsewhere any approver but the caller. The
   * strictest matching rule applies, and of several lists the names that are in all.
   */
  readonly approvers?: Approvers
  /** Every call must have an idempotency key. Default: `false`. */
  readonly idempotencyKey?: boolean
  /** Expected cost of one call; replaces the capability's own. */
  readonly cost?: Cost
  /** Spending limits. */
  readonly budgets?: readonly BudgetOptions[]
  /** Rate limits, each per caller. */
  readonly rates?: readonly RateOptions[]
  /** Milliseconds until a call times out; a shorter timeout of the capability takes precedence. */
  readonly timeout?: number
  /** The audit stores the arguments themselves, not only their digest. Default: `false`. */
  readonly recordArguments?: boolean
}

/** A spending limit, and who shares it. */
export interface BudgetOptions {
  /** The limit, in `unit`. */
  readonly limit: number
  /** `calls`, or the unit of a cost, such as `EUR`. Default: `calls`. */
  readonly unit?: string
  /** One account for each caller, source or capability. Default: `caller`. */
  readonly per?: 'caller' | 'source' | 'capability'
  /** The limit applies to one call, a day or a month (UTC). Default: `day`. */
  readonly window?: 'call' | 'day' | 'month'
  /** When to warn, ask and refuse. */
  readonly thresholds?: ThresholdOptions
}

/** Percentages of a budget's limit. */
export interface ThresholdOptions {
  /** Results carry a notice from this percentage on. Default: 80. */
  readonly alert?: number
  /** A human must approve calls above this percentage. Default: 100. */
  readonly reauthorise?: number
  /** Calls above this percentage are refused. Default: 120. */
  readonly stop?: number
  /** A call that reaches `reauthorise` or `stop` exactly counts as above it. Default: `false`. */
  readonly inclusive?: boolean
}

/** A rate limit per caller: a token bucket. */
export interface RateOptions {
  /** Calls allowed per `seconds`; also the size of a burst. */
  readonly calls: number
  /** Length of the period, in seconds. */
  readonly seconds: number
}

/** The audit, as under `audit` in `drawbridge.yaml`. */
export interface AuditOptions {
  /** Signed checkpoints that are sent elsewhere. Default: none. */
  readonly checkpoints?: CheckpointOptions
}

/** Signed copies of the end of the audit: they reveal later edits, even by someone with the store's key. */
export interface CheckpointOptions {
  /** Seconds between checkpoints; none is sent while nothing is recorded. Default: 60. */
  readonly every?: number
  /** Where they are sent. */
  readonly to: CheckpointTarget
}

/** A file, to which lines are appended; a program, which reads a line from standard input; or a URL to post to. */
export type CheckpointTarget =
  | {
      /** Path of the file. */
      readonly file: string
    }
  | {
      /** The program and its arguments, run without a shell. */
      readonly command: readonly string[]
    }
  | {
      /** An HTTPS address, or one on this machine. Redirects are not followed. */
      readonly url: string
      /** Bearer token. Default: none. */
      readonly token?: string
    }

/** The HTTP server, as under `http` in `drawbridge.yaml`. */
export interface HttpOptions {
  /** Address to listen on. Default: `127.0.0.1`. */
  readonly host?: string
  /** Port to listen on; 0 chooses a free one. Default: 4747. */
  readonly port?: number
  /** Further values of the `Host` header that are served, with or without a port. Default: none. */
  readonly hosts?: readonly string[]
  /** Origins of web pages that may connect, such as `https://app.acme.example`. Default: none. */
  readonly origins?: readonly string[]
  /** Accepted bearer tokens. Default: none, and every HTTP caller is the local user with all scopes. */
  readonly tokens?: readonly TokenOptions[]
  /** Maximum size of one request body, in bytes. Default: 4,194,304. */
  readonly bodyLimit?: number
  /** Maximum number of JSON values in one request body. Default: 100,000. */
  readonly bodyValues?: number
}

/** A bearer token and its caller. `drawbridge token` creates one. */
export interface TokenOptions {
  /** SHA-256 digest of the token: `sha256:` and 64 hexadecimal digits. */
  readonly hash: string
  /** Id of the caller in the audit, for budgets and for idempotency keys. */
  readonly subject: string
  /** Scopes of the caller; `orders:*` covers `orders:refund`. Default: none. */
  readonly scopes?: readonly string[]
}
