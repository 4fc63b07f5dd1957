import { isDeepStrictEqual } from 'node:util'
import { type Fields, isFields } from './api-document.ts'
import { type Decoded, DecodedJson } from './decode-parameters.ts'
import type { ReceivedRequest } from './mock-api.ts'
import type { OperationSpec, ParameterSpec } from './operations.ts'

type Arguments = Readonly<Record<string, unknown>>

/**
 * What differs between the arguments of a call and what the API understood. Empty: nothing. The input
 * schema tells which argument is which parameter, as it tells a model.
 */
export function compareArguments(
  sent: Arguments,
  received: ReceivedRequest,
  { properties }: Fields,
): readonly string[] {
  const differences = [...received.problems]
  const unused = new Set(Object.keys(sent).filter((name) => sent[name] !== null))
  for (const { spec, readings } of received.parameters) {
    if (spec.place === 'header' && spec.name.toLowerCase() === 'idempotency-key') continue
    const argument = findArgument(properties, spec)
    if (!Object.hasOwn(sent, argument)) {
      differences.push(`${spec.place} ${spec.name} was not sent as an argument`)
      continue
    }
    unused.delete(argument)
    if (!readings.some((reading) => isSame(sent[argument], reading, spec.place)))
      differences.push(
        `${spec.place} ${spec.name}: sent ${print(sent[argument])}, received ${print(readings)}`,
      )
  }
  const isParameter = received.parameters.some(({ spec }) => spec.name === 'body')
  const bodyName = (isParameter ? ['request_body'] : ['body']).find((name) =>
    Object.hasOwn(sent, name),
  )
  if (received.body && bodyName !== undefined) {
    unused.delete(bodyName)
    differences.push(...compareBody(sent[bodyName], received))
  } else if (received.body) differences.push('a body that was not sent as an argument')
  for (const name of unused)
    if (!isEmpty(sent[name])) differences.push(`argument ${name} did not arrive`)
  return differences
}

/** What the document declares and the input schema does not offer. */
export function listMissing(
  { parameters, bodies }: OperationSpec,
  { properties }: Fields,
): string[] {
  const offered = new Set(Object.keys(properties ?? {}))
  return [
    ...parameters
      .filter((spec) => !offered.has(findArgument(properties, spec)))
      .map(({ name }) => name),
    ...(bodies.length > 0 && !offered.has('body') ? ['body'] : []),
  ]
}

/** An argument has the name of its parameter, or says which one it is. */
export function findArgument(properties: unknown, { name, place }: ParameterSpec): string {
  const sentence = `Sent in the ${place} as ${name}.`
  const entries = Object.entries((properties ?? {}) as Record<string, Fields>)
  return entries.find(([, { description }]) => String(description).endsWith(sentence))?.[0] ?? name
}

/** An empty list or object has no form in a URL: it is the same as none. */
const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).every(isEmpty)

function isSame(sent: unknown, reading: Decoded, place?: string): boolean {
  if (reading instanceof DecodedJson) return isDeepStrictEqual(toJson(sent), reading.json)
  if (Array.isArray(sent)) {
    const items = Array.isArray(reading) ? reading : undefined
    return (
      items?.length === sent.length &&
      sent.every((item, index) => isSame(item, items[index] as Decoded, place))
    )
  }
  if (isFields(sent)) {
    if (typeof reading === 'string') return isJsonOf(sent, reading)
    const entries = Object.entries(sent).filter(([, value]) => !isEmpty(value))
    return (
      isFields(reading) &&
      Object.keys(reading).length === entries.length &&
      entries.every(([name, value]) => isSame(value, reading[name] as Decoded, place))
    )
  }
  // White space around the value of a header does not belong to it.
  return place === 'header' ? String(sent).trim() === reading : String(sent) === reading
}

const toJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

function isJsonOf(sent: unknown, text: string): boolean {
  try {
    return isDeepStrictEqual(toJson(sent), JSON.parse(text))
  } catch {
    return false
  }
}

function compareBody(sent: unknown, { body }: ReceivedRequest): string[] {
  switch (body?.kind) {
    case 'json':
      return isDeepStrictEqual(JSON.parse(JSON.stringify(sent), asNumber), body.value)
        ? []
        : [`body: sent ${print(sent)}, received ${print(body.value)}`]
    case 'text':
      return String(sent) === body.text ? [] : [`body: sent ${print(sent)}, received ${body.text}`]
    case 'bytes':
      return isFile(sent, body.bytes) ? [] : [`body: sent ${print(sent)}`]
    case 'form':
      return compareForm(sent, body.fields)
    case 'multipart':
      return compareParts(sent, body.parts)
    case undefined:
      return []
  }
}

/** The digits of a large integer are sent as a number, which the mock rounds when it reads the body. */
const asNumber = (_: string, value: unknown): unknown =>
  typeof value === 'string' && /^-?[1-9]\d{15,}$/.test(value) ? Number(value) : value

function isFile(sent: unknown, bytes: Buffer): boolean {
  if (!isFields(sent)) return false
  const { text, data } = sent
  return Buffer.from(String(text ?? data), text === undefined ? 'base64' : 'utf8').equals(bytes)
}

function compareForm(
  sent: unknown,
  fields: Readonly<Record<string, readonly Decoded[]>>,
): string[] {
  if (!isFields(sent)) return [`form: sent ${print(sent)}`]
  const names = new Set([...Object.keys(sent), ...Object.keys(fields)])
  return [...names].flatMap((name) => {
    const value = sent[name]
    const readings = fields[name] ?? []
    if (readings.length === 0 && (isEmpty(value) || value === null)) return []
    const items = readings.every((one) => typeof one === 'string')
      ? [...readings, readings]
      : readings
    return items.some((reading) => isSame(value, reading as Decoded))
      ? []
      : [`form ${name}: sent ${print(value)}, received ${print(readings)}`]
  })
}

function compareParts(
  sent: unknown,
  parts: Extract<ReceivedRequest['body'], { kind: 'multipart' }>['parts'],
): string[] {
  if (!isFields(sent)) return [`multipart: sent ${print(sent)}`]
  const names = new Set([...Object.keys(sent), ...parts.map(({ name }) => name)])
  return [...names].flatMap((name) => {
    const value = sent[name]
    const own = parts.filter((part) => part.name === name)
    if (own.length === 0 && (value === null || (Array.isArray(value) && value.length === 0)))
      return []
    const values = Array.isArray(value) ? value : [value]
    const isEqual =
      own.length === values.length &&
      values.every((item, index) => {
        const part = own[index]
        if (part?.filename !== undefined)
          return (
            isFile(item, part.bytes) &&
            (!isFields(item) || item.filename === undefined || item.filename === part.filename)
          )
        const text = part?.bytes.toString() ?? ''
        return isFields(item) || Array.isArray(item)
          ? part?.contentType === 'application/json' && isJsonOf(item, text)
          : String(item) === text
      })
    return isEqual
      ? []
      : [
          `part ${name}: sent ${print(value)}, received ${print(own.map((part) => part.bytes.toString()))}`,
        ]
  })
}

const print = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 300)
