import type { Message } from './content.ts'
import type { JsonObject } from './json.ts'

/** Something a call can ask of the client before it continues. */
export type Question = FormQuestion | LinkQuestion | ModelQuestion | RootsQuestion

/** A short form for a person to fill in. Must not ask for secrets. */
export interface FormQuestion {
  readonly kind: 'form'
  /** Shown above the form. */
  readonly message: string
  /** Flat object schema: primitive properties only. */
  readonly schema: JsonObject
}

/** A web page for a person to visit. */
export interface LinkQuestion {
  readonly kind: 'link'
  /** Tells the person why to visit the page. */
  readonly message: string
  /** Address of the page. */
  readonly url: string
}

/** Messages for the client's model to continue (MCP sampling). */
export interface ModelQuestion {
  readonly kind: 'model'
  /** The conversation so far. */
  readonly messages: readonly Message[]
  /** Maximum length of the answer, in tokens. */
  readonly maxTokens: number
  /** System prompt, which the client may change or ignore. */
  readonly systemPrompt?: string
}

/** Asks for the folders the client works in (MCP roots). */
export interface RootsQuestion {
  readonly kind: 'roots'
}

/** The client's answer to one question. Untrusted, like any argument. */
export type Answer = JsonObject
