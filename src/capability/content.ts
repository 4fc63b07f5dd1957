/** One block of a result, as a model or person reads it. `data` is base64. */
export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'audio'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'resource'; readonly resource: Document }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string }

/** A document with its URI: either `text` or `blob` is present. */
export interface Document {
  /** Address of the document. */
  readonly uri: string
  /** Media type, such as `text/markdown`. */
  readonly mimeType?: string
  /** Content of a text document. */
  readonly text?: string
  /** Content of a binary document, as base64. */
  readonly blob?: string
}

/** One message of a conversation. */
export interface Message {
  /** Author of the message. */
  readonly role: 'user' | 'assistant'
  /** One block of content. */
  readonly content: Content
}

export const text = (value: string): Content => ({ type: 'text', text: value })
