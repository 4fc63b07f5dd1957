/** Exit codes of the command line. A verb returns 0 or 1 for its result; `run` maps errors to the others. */
export const exitCodes = {
  success: 0,
  /** The answer is no: an invalid manifest, a failed call, a breaking difference. */
  negativeResult: 1,
  /** Wrong usage, or something that cannot be opened. */
  setupError: 2,
  /** A credential of the owner was refused. */
  ownerCredential: 77,
  /** The credential is missing, invalid or expired. */
  invalidCredential: 78,
  /** Ctrl-C: by shell convention 128 plus the number of the signal. */
  interrupted: 130,
} as const
