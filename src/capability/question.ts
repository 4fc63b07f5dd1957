import type { Message } from './content.ts'
import type { JsonObject } from './json.ts'

/** What a call can ask of the other side before it goes on. */
export type Question = FormQuestion | LinkQuestion | ModelQuestion | RootsQuestion

/** A few fields for a person to fill in. Never for secrets. */
export interface FormQuestion {
  readonly kind: 'form'
  readonly message: string
  /** Flat object schema: primitive properties only. */
  readonly schema: JsonObject
}

/** A page for a person to visit. */
export interface LinkQuestion {
  readonly kind: 'link'
  readonly message: string
  readonly url: string
}

/** Words for the client's model to continue. */
export interface ModelQuestion {
  readonly kind: 'model'
  readonly messages: readonly Message[]
  readonly maxTokens: number
  readonly systemPrompt?: string
}

/** Which folders the client works in. */
export interface RootsQuestion {
  readonly kind: 'roots'
}

/** What came back, as untrusted as any argument. */
export type Answer = JsonObject
