/** One piece of an answer as a reader sees it. */
export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'audio'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'resource'; readonly resource: Document }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string }

/** Something with an address, as text or as base64. */
export interface Document {
  readonly uri: string
  readonly mimeType?: string
  readonly text?: string
  readonly blob?: string
}

/** One turn of a conversation. */
export interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: Content
}

export const text = (words: string): Content => ({ type: 'text', text: words })
