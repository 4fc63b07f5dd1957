/** One block of a result, as a model or person reads it. `data` is base64. */
export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'audio'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'resource'; readonly resource: Document }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string }

/** A document with its URI: either `text` or `blob` is present. */
export interface Document {
  readonly uri: string
  readonly mimeType?: string
  readonly text?: string
  /** Base64. */
  readonly blob?: string
}

/** One message of a conversation. */
export interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: Content
}

export const text = (value: string): Content => ({ type: 'text', text: value })
