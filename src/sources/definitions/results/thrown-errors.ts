import type { Execute } from '../dialects/dialect.ts'
import { type Reply, toolError } from '../reply.ts'
import type { ToolContext } from '../tool-definition.ts'

const maxLength = 1000

/**
 * For dialects whose library gives the message of a thrown error to the model: authors throw on purpose
 * there, of classes of their own too. Only the first line is sent, never a stack. Errors that the language,
 * Node or a driver raises are bugs as everywhere else, and their messages never leave the process; so is a
 * result that `toReply` cannot read.
 */
export const withThrownErrors =
  (execute: Execute, toReply: ToReply = (result) => result): Execute =>
  async (input, context) => {
    let result: unknown
    try {
      result = await execute(input, context)
    } catch (error) {
      if (context.signal.aborted || !isDeliberate(error)) throw error
      return toThrownError(error)
    }
    return toReply(result, input, context)
  }

type ToReply = (result: unknown, input: unknown, context: ToolContext) => unknown

const toThrownError = ({ message }: Error): Reply => {
  const [line = ''] = message.split('\n')
  return toolError(line.slice(0, maxLength))
}

/** Errors of the language and of platforms, by their names: those of another realm are no instances. */
const platformErrors =
  /^(Type|Reference|Range|Syntax|Eval|URI|Aggregate|Assertion|Abort|Timeout|Internal|System|Suppressed)Error$|^DOMException$/

/** Errors of drivers and HTTP clients that have none of the fields below. Their messages have hosts, queries and rows. */
const driverErrors = [
  /^(Prisma|Mongo|BulkWrite|Postgres|Pg|Sequelize|Sqlite|MySql|MariaDB|MsSql|Libsql|Knex|TypeORM|Drizzle|Redis|Kafka|Amqp|Elasticsearch|OpenSearch|Cassandra|Neo4j|Axios|Undici|Zod).*(Error|Exception)$/i,
  /^(Database|Db|Query|QueryFailed|Sql|Transaction|Connect|Connection|Pool|Socket|Network|Https?|Fetch|Request|Response|Reply)(Timeout|Refused|Closed)?(Error|Exception)$/i,
]

/** Fields of errors that Node, drivers, HTTP clients and validators raise. */
const driverFields = [
  'syscall',
  'errno',
  'issues',
  'sql',
  'query',
  'sqlState',
  'driverError',
  'request',
  'response',
  'headers',
  '$metadata',
]

function isDeliberate(error: unknown): error is Error {
  if (!(error instanceof Error) || error.message === '') return false
  if (runtimeErrors.some((kind) => error instanceof kind)) return false
  // Errors of MCP have a negative code of JSON-RPC. Other codes are those of Node and of drivers.
  if ('code' in error && error.code !== undefined)
    return typeof error.code === 'number' && error.code < 0
  if (driverFields.some((field) => field in error)) return false
  return [error.name, error.constructor.name].every(
    (name) => ![platformErrors, ...driverErrors].some((pattern) => pattern.test(name)),
  )
}

const runtimeErrors = [
  TypeError,
  ReferenceError,
  RangeError,
  SyntaxError,
  EvalError,
  URIError,
  AggregateError,
]
