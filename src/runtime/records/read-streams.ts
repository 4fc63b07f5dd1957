import { readFile } from 'node:fs/promises'
import { isFault } from '../../capability/fault.ts'
import { SetupError } from '../../capability/setup-error.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { Stream } from '../../sources/records/model/stream.ts'
import { declareStream, streamShape } from '../../sources/records/streams/declare-stream.ts'
import { readYaml } from '../../yaml/read-yaml.ts'
import { toReadError } from '../file-errors.ts'

/** Reads a `streams.yaml`. Reports all errors at once, each with file, line and column. */
export async function readStreams(
  file: string,
  connector: string | undefined,
): Promise<ReadonlyMap<string, Stream>> {
  const text = await readFile(file, 'utf8').catch((error) => {
    throw toReadError(file, error)
  })
  const document = readYaml(text, file)
  const [fault] = document.faults
  if (fault) throw new SetupError(`${fault.at} ${fault.message}`)
  const value = document.value
  const declarations = isPlainObject(value) ? value.streams : undefined
  if (!isPlainObject(declarations))
    throw new SetupError(`${file}:1:1 needs the key "streams", with a mapping of stream names`)
  const streams = new Map<string, Stream>()
  const errors: string[] = []
  for (const [name, candidate] of Object.entries(declarations)) {
    const report = (path: readonly PropertyKey[], message: string) =>
      errors.push(
        `${document.at(['streams', name, ...path])} ${[name, ...path].join('/')}: ${message}`,
      )
    const result = streamShape.safeParse(candidate)
    if (!result.success) {
      for (const { path, message } of result.error.issues) report(path, message)
      continue
    }
    const stream = declareStream(name, connector ?? result.data.connector ?? 'local', result.data)
    if (isFault(stream)) for (const { path, message } of stream.fault) report(path, message)
    else streams.set(name, stream)
  }
  if (errors.length > 0) throw new SetupError(errors.join('\n'))
  return streams
}
