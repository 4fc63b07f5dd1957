/** Whether a `Content-Type` header is `application/json`, with or without parameters such as a charset. */
export const isJson = (contentType: string | undefined): boolean =>
  contentType !== undefined && /^application\/json\s*(;|$)/i.test(contentType)
