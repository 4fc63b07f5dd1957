import type { Json, JsonObject } from './json.ts'

/**
 * The settings of a source as a whole that decide what its capabilities can do, and to whom. `diff` compares
 * them; they are never sent to clients.
 */
export interface TrustSurface {
  /** The settings at their pointers in the source. References to secrets, but never a secret's value. */
  readonly settings: JsonObject
  /** What the settings mean. A setting without a rule is reported too, as neutral and to be reviewed. */
  readonly rules: readonly SettingRule[]
}

/** How a change of one setting is judged. */
export interface SettingRule {
  /** JSON pointer; a segment `*` stands for any one segment. The first rule that matches applies. */
  readonly at: string
  /** What the setting is, as the subject of a sentence, such as `the endpoint`. */
  readonly label: string
  readonly judgement: Judgement
  /** The changes that an unchanged client may notice as refusals or delays. Default: none. */
  readonly breaks?: 'narrowing' | 'widening' | 'all'
  /** The value of an absent setting. Default for numbers: unlimited; for lists: empty. */
  readonly absent?: Json
  /** The items of a list or mapping; each is compared with the item of the same identity. */
  readonly items?: ItemRule
  /** Sentences for messages instead of the generic one. */
  readonly wider?: string
  readonly narrower?: string
  /** Prefix of the finding's `kind`. Default: `setting`. */
  readonly kind?: string
}

/** How the items of a list or mapping are paired and named. Pairs keep the identity, not the position. */
export interface ItemRule {
  /** What one item is, such as `interface`. */
  readonly noun: string
  /** The field with its name for messages. Default: the key in a mapping, the position in a list. */
  readonly name?: string
  /** The fields that identify an item of a list. Default: its position. */
  readonly identity?: readonly string[]
  /** Unmatched items that agree in this field are paired in order; with an empty name, all of them. */
  readonly similarity?: string
  /** The order of the items matters. */
  readonly isOrdered?: boolean
}

/**
 * Which of two values allows more.
 *
 * - `more`, `less`: the higher, or the lower number
 * - `on`, `off`: `true`, or `false`
 * - `members`, `restrictions`: the list with more members, or with fewer
 * - `presence`, `restriction`: there being a value, or there being none
 * - `address`: a URL or host; another host or a scheme without encryption allows more
 * - `listener`: an address to listen on; one that other machines can reach allows more
 * - `secret`: a secret, of which only references are printed; `reference`: the name of a secret
 * - `order`: the values from the strictest on; a list groups values that cannot be compared, and `*` stands for
 *   all other values
 * - `review`: unknown, a person has to decide; `opaque`: the same for a value that must not be printed;
 *   `code`: the same for a digest of code
 * - `text`: neither, such as a description
 */
export type Judgement =
  | 'more'
  | 'less'
  | 'on'
  | 'off'
  | 'members'
  | 'restrictions'
  | 'presence'
  | 'restriction'
  | 'address'
  | 'listener'
  | 'secret'
  | 'reference'
  | 'review'
  | 'opaque'
  | 'code'
  | 'text'
  | { readonly order: readonly (string | readonly string[])[] }
