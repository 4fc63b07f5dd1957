import type { Result, CallToolResult as SdkCallToolResult } from '@modelcontextprotocol/server'
import { type Content, text } from '../capability/content.ts'
import type { Failure } from '../capability/failure.ts'
import type { Done, Failed, Notice } from '../capability/outcome.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { codes, RpcError } from './rpc-error.ts'
import { resultMeta } from './wire-names.ts'

/** The result of `tools/call`. A failed call has `isError: true`; `docs/wire.md` describes `_meta`. */
export interface CallToolResult extends SdkCallToolResult {}

/** The outcome of a call as a `tools/call` result. */
export function toResult(
  outcome: Done | Failed,
  { id: callId, hasOutputSchema }: { readonly id: string; readonly hasOutputSchema: boolean },
): CallToolResult {
  const id = outcome.callId ?? callId
  const result =
    outcome.kind === 'done' ? toSuccess(outcome, id, hasOutputSchema) : toErrorResult(outcome, id)
  return outcome.notices === undefined ? result : withNotices(result, outcome.notices)
}

/** Adds notices to the metadata for programs, and those that a model can act on as text. */
function withNotices(result: CallToolResult, notices: readonly Notice[]): CallToolResult {
  const meta = notices.map(({ about, data }) => [resultMeta[about], data])
  const texts = notices.filter(({ about }) => inText.has(about)).map(({ text }) => text)
  return {
    ...result,
    content: [
      ...result.content,
      ...texts.map((notice) => ({ type: 'text' as const, text: notice })),
    ],
    _meta: { ...result._meta, ...Object.fromEntries(meta) },
  }
}

const inText = new Set<Notice['about']>(['budget', 'nextPage', 'retry'])

function toSuccess(
  { data, content, fetchedAt }: Done,
  callId: string,
  hasOutputSchema: boolean,
): CallToolResult {
  const _meta: Record<string, unknown> = { [resultMeta.callId]: callId }
  if (fetchedAt !== undefined) _meta[resultMeta.fetchedAt] = fetchedAt
  const blocks = (content ?? toContent(data)) as CallToolResult['content']
  // An empty answer states its success explicitly.
  if (data === undefined && content === undefined) return { content: blocks, isError: false, _meta }
  // A string is complete as text, but an output schema promises structured content.
  return data === undefined || (typeof data === 'string' && !hasOutputSchema)
    ? { content: blocks, _meta }
    : { content: blocks, structuredContent: data as Record<string, unknown>, _meta }
}

/** Data as text, because many hosts show nothing else to the model. */
const toContent = (data: unknown): readonly Content[] => [
  data === undefined ? text('') : typeof data === 'string' ? text(data) : new DataText(data),
]

/** A text block with the JSON of some data, so that the same data beside it is not written twice. */
class DataText {
  readonly type = 'text'
  readonly text: string
  readonly #data: unknown

  constructor(data: unknown) {
    this.text = JSON.stringify(data)
    this.#data = data
  }

  static find({ content, structuredContent }: Result): string | undefined {
    const block = Array.isArray(content) ? content[0] : undefined
    return block instanceof DataText && block.#data === structuredContent ? block.text : undefined
  }
}

/** The members of a result as JSON, each with a comma in front, less the ones that are written elsewhere. */
export function toMembers(result: Result, omitted?: string): string {
  let text = ''
  for (const key in result) {
    if (key === omitted || key === 'resultType') continue
    const value =
      (key === 'structuredContent' && DataText.find(result)) || JSON.stringify(result[key])
    // The keys of results are plain words.
    if (value !== undefined) text += `,"${key}":${value}`
  }
  return text
}

function toErrorResult({ failure, content }: Failed, callId: string): CallToolResult {
  switch (failure.fixedBy) {
    case 'model':
      return {
        isError: true,
        content: (content ?? [text(`Error: ${failure.message}`)]) as CallToolResult['content'],
        _meta: { [resultMeta.callId]: callId, [resultMeta.failure]: toFailureMeta(failure) },
      }
    case 'client':
      throw toProtocolError(failure)
    case 'operator': {
      const { code, retryable, advice } = failure
      const nextStep = advice === undefined ? '' : ` ${advice}`
      const message = `Error: the tool is temporarily unavailable. The operator of this server can look up the reference ${callId}.${nextStep}`
      return {
        isError: true,
        content: [{ type: 'text', text: message }],
        _meta: {
          [resultMeta.callId]: callId,
          [resultMeta.failure]: {
            code,
            message: `temporarily unavailable${nextStep && `.${nextStep}`}`,
            retryable,
          },
        },
      }
    }
  }
}

const toFailureMeta = ({ code, message, details, retryable }: Failure) =>
  dropUndefined({ code, message, details, retryable })

/** A JSON-RPC error, for results without `isError`: reading a view, rendering a prompt, a forbidden call. */
export function toProtocolError(failure: Failure, callId?: string): RpcError {
  const { code, message, fixedBy, details, advice } = failure
  if (fixedBy === 'operator') {
    const nextStep = advice === undefined ? '' : ` ${advice}`
    return new RpcError(
      codes.internal,
      `Temporarily unavailable. Reference: ${callId}.${nextStep}`,
      {
        data: { code },
      },
    )
  }
  if (fixedBy === 'model')
    return new RpcError(codes.invalidParams, message, { data: { code, ...details } })
  const scopes = Array.isArray(details?.missing) ? details.missing.join(' ') : undefined
  return new RpcError(codes.refused, message, {
    data: { code, ...details },
    status: 403,
    headers: {
      'www-authenticate': `Bearer error="${code}"${scopes === undefined ? '' : `, scope="${scopes}"`}`,
    },
  })
}
