import type { ClientCapabilities, InputRequests } from '@modelcontextprotocol/server'
import { isPlainObject } from '../capability/json.ts'
import type { Answer, Question } from '../capability/question.ts'
import { codes, RpcError } from './rpc-error.ts'

type Kind = Question['kind']

/** Per kind of question: what a client must have declared, and how it is put to it. */
const kinds: {
  readonly [K in Kind]: {
    readonly needs: ClientCapabilities
    readonly canAsk: (client: ClientCapabilities) => boolean
    readonly toRequest: (question: Extract<Question, { kind: K }>) => unknown
  }
} = {
  form: {
    needs: { elicitation: { form: {} } },
    // Before there were modes, an empty `elicitation` meant forms.
    canAsk: ({ elicitation }) =>
      isPlainObject(elicitation) && (elicitation.form !== undefined || !elicitation.url),
    toRequest: ({ message, schema }) => ({
      method: 'elicitation/create',
      params: { mode: 'form', message, requestedSchema: schema },
    }),
  },
  link: {
    needs: { elicitation: { url: {} } },
    canAsk: ({ elicitation }) => isPlainObject(elicitation) && elicitation.url !== undefined,
    toRequest: ({ message, url }) => ({
      method: 'elicitation/create',
      params: { mode: 'url', message, url },
    }),
  },
  model: {
    needs: { sampling: {} },
    canAsk: ({ sampling }) => isPlainObject(sampling),
    toRequest: ({ kind: _, ...params }) => ({ method: 'sampling/createMessage', params }),
  },
  roots: {
    needs: { roots: {} },
    canAsk: ({ roots }) => isPlainObject(roots),
    toRequest: () => ({ method: 'roots/list' }),
  },
}

const nothing: ReadonlySet<Kind> = new Set()

/** What this client said it can be asked. */
export function toAskable(client: ClientCapabilities): ReadonlySet<Kind> {
  for (const _ in client) {
    const names = Object.keys(kinds) as Kind[]
    return new Set(names.filter((kind) => kinds[kind].canAsk(client)))
  }
  return nothing
}

/** The questions as embedded requests; a client that cannot answer one of them is told what lacks. */
export function toInputRequests(
  questions: Readonly<Record<string, Question>>,
  client: ClientCapabilities,
): InputRequests {
  const missing = Object.values(questions).filter(({ kind }) => !kinds[kind].canAsk(client))
  if (missing.length > 0)
    throw new RpcError(
      codes.missingClientCapability,
      'The client cannot be asked for this input.',
      {
        status: 400,
        data: {
          requiredCapabilities: Object.assign({}, ...missing.map((q) => kinds[q.kind].needs)),
        },
      },
    )
  return Object.fromEntries(
    Object.entries(questions).map(([key, question]) => [
      key,
      kinds[question.kind].toRequest(question as never),
    ]),
  ) as InputRequests
}

/** What came back, less what nobody could have sent as an answer. */
export function toAnswers(responses: unknown): Readonly<Record<string, Answer>> {
  if (!isPlainObject(responses)) return noAnswers
  return Object.fromEntries(
    Object.entries(responses).filter(([, response]) => isPlainObject(response)),
  ) as Record<string, Answer>
}

const noAnswers: Readonly<Record<string, Answer>> = Object.freeze({})
