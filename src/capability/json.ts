/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

/** A JSON object. Keys with the value `undefined` are left out when it is sent. */
export interface JsonObject {
  readonly [key: string]: Json | undefined
}
