import type { LogLevel } from '../../../capability/listener.ts'
import type { ToolContext } from '../tool-definition.ts'
import { isObject } from './shape.ts'

/**
 * The context that handlers of the MCP SDK get, for both of its versions: `extra.signal` and
 * `extra.sendNotification` of version 1, `ctx.mcpReq` of version 2. Without a session, token or HTTP
 * request: Drawbridge has authenticated the caller.
 */
export function toHandlerContext(context: ToolContext) {
  const notify = async (notification: unknown) => send(notification, context)
  return {
    get signal() {
      return context.signal
    },
    requestId: context.callId,
    sendNotification: notify,
    sendRequest: notAvailable,
    mcpReq: {
      id: context.callId,
      method: 'tools/call',
      get signal() {
        return context.signal
      },
      notify,
      log: async (level: LogLevel, data: unknown, logger?: string) =>
        context.log(level, data, logger),
      requestState: () => undefined,
      send: notAvailable,
      elicitInput: notAvailable,
      requestSampling: notAvailable,
    },
  }
}

/** Progress and log messages reach the client; other notifications are about a server that is not there. */
function send(notification: unknown, context: ToolContext): void {
  if (!isObject(notification) || !isObject(notification.params)) return
  const { method, params } = notification
  if (method === 'notifications/progress') {
    const { progress, total, message } = params
    context.progress(
      Number(progress),
      total === undefined ? undefined : Number(total),
      message === undefined ? undefined : String(message),
    )
  }
  if (method === 'notifications/message')
    context.log(
      params.level as LogLevel,
      params.data,
      params.logger === undefined ? undefined : String(params.logger),
    )
}

/** A rejected promise with a `TypeError`, so that the reason goes to the operator. */
const notAvailable = (): Promise<never> =>
  Promise.reject(new TypeError('Requests to the client are not available to this handler.'))
