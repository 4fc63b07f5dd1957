/** Who a call is made for. Comes from a credential, never from what a client says of itself. */
export interface Caller {
  readonly subject: string
  readonly scopes: Scopes
  /** The records grant (package) whose token was presented; absent for every other credential. */
  readonly grantId?: string
}

/** `all` is the local user's: nobody stands above the person at the keyboard. */
export type Scopes = 'all' | ReadonlySet<string>

export const localUser: Caller = { subject: 'local', scopes: 'all' }
