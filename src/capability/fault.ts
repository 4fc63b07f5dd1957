/**
 * The reason why loading, parsing, an operator's action or a check before a call failed: a message, or
 * a code where the caller chooses the message. Calls fail with `Failed`.
 */
export interface Fault<Reason = string> {
  readonly fault: Reason
}

export const isFault = (value: object): value is Fault<unknown> => 'fault' in value
