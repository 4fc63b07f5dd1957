import type { ClientCapabilities, InputRequests } from '@modelcontextprotocol/server'
import type { Answer, Question } from '../capability/question.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { codes, RpcError } from './rpc-error.ts'

type Kind = Question['kind']

/** The client capability that each kind of question needs, and its request to the client. */
const kinds: {
  readonly [K in Kind]: {
    readonly needs: ClientCapabilities
    readonly canAsk: (client: ClientCapabilities) => boolean
    readonly toRequest: (question: Extract<Question, { kind: K }>) => unknown
  }
} = {
  form: {
    needs: { elicitation: { form: {} } },
    // Older clients declare an empty `elicitation` object, which means forms.
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

const noKinds: ReadonlySet<Kind> = new Set()

/** The kinds of question that a client has declared support for. */
export function toAskable(client: ClientCapabilities): ReadonlySet<Kind> {
  // Fast path: most clients declare nothing. The loop body runs once, if there is any key.
  for (const _ in client) {
    const names = Object.keys(kinds) as Kind[]
    return new Set(names.filter((kind) => kinds[kind].canAsk(client)))
  }
  return noKinds
}

/** The questions as embedded requests; throws when the client lacks a capability for one of them. */
export function toInputRequests(
  questions: Readonly<Record<string, Question>>,
  client: ClientCapabilities,
): InputRequests {
  const unsupported = Object.values(questions).filter(({ kind }) => !kinds[kind].canAsk(client))
  if (unsupported.length > 0)
    throw new RpcError(
      codes.missingClientCapability,
      'The client does not support this kind of input request.',
      {
        status: 400,
        data: {
          requiredCapabilities: Object.assign(
            {},
            ...unsupported.map(({ kind }) => kinds[kind].needs),
          ),
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

/** The client's answers; values that are not objects are dropped. */
export function toAnswers(responses: unknown): Readonly<Record<string, Answer>> {
  if (!isPlainObject(responses)) return noAnswers
  return Object.fromEntries(
    Object.entries(responses).filter(([, response]) => isPlainObject(response)),
  ) as Record<string, Answer>
}

const noAnswers: Readonly<Record<string, Answer>> = Object.freeze({})
