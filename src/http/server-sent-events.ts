/** The text of server-sent events. JSON has no line breaks, so that a message is one line of data. */
export const toEvent = (message: string, id?: string): string =>
  id === undefined
    ? `event: message\ndata: ${message}\n\n`
    : `event: message\nid: ${id}\ndata: ${message}\n\n`

/** An event without data: clients remember its id, and reconnect after `retryMs`. */
export const toPrimingEvent = (id: string, retryMs: number): string =>
  `id: ${id}\nretry: ${retryMs}\ndata: \n\n`

export const keepAliveComment = ': keepalive\n\n'
