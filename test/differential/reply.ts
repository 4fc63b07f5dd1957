/** What a server sent because of one message, without what may differ between two equal servers. */
export interface Reply {
  /** The HTTP status. */
  readonly status?: number
  /** True if the response gives the client a new session. */
  readonly opensSession?: boolean
  readonly messages: readonly ReplyMessage[]
}

/** An unvalidated JSON-RPC message. */
export interface ReplyMessage {
  readonly id?: unknown
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** Removes ids that a server chose, and the order of the answers to a batch. */
export function normalise(reply: Reply): Reply {
  const messages = reply.messages.map((message) => withoutIds(message) as ReplyMessage)
  const isAnswer = ({ method }: ReplyMessage) => method === undefined
  const answers = messages.filter(isAnswer)
  if (answers.length <= 1) return { ...reply, messages }
  const key = ({ id }: ReplyMessage) => JSON.stringify(id)
  const sorted = answers.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
  return { ...reply, messages: [...messages.filter((one) => !isAnswer(one)), ...sorted] }
}

const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
/** An encrypted token: the state of a call that asked a question. */
const states = /eyJ[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+/g

function withoutIds(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(uuids, '«id»').replace(states, '«state»')
  if (Array.isArray(value)) return value.map(withoutIds)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, withoutIds(child)]))
}
