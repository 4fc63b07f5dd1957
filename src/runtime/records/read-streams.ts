import { readFile } from 'node:fs/promises'
import { isPlainObject } from '../../capability/json.ts'
import { SetupError } from '../../capability/setup-error.ts'
import { declareStream, streamShape } from '../../sources/records/model/declare-stream.ts'
import type { Stream } from '../../sources/records/model/stream.ts'
import { readYaml } from '../../yaml/read-yaml.ts'
import { toReadError } from '../file-errors.ts'

/** The streams of a `streams.yaml`. Every complaint names file, line and column, all of them at once. */
export async function readStreams(
  file: string,
  connector: string | undefined,
): Promise<ReadonlyMap<string, Stream>> {
  const text = await readFile(file, 'utf8').catch((error) => {
    throw toReadError(file, error)
  })
  const document = readYaml(text, file)
  const [broken] = document.faults
  if (broken) throw new SetupError(`${broken.at} ${broken.message}`)
  const value = document.value
  const declared = isPlainObject(value) ? value.streams : undefined
  if (!isPlainObject(declared))
    throw new SetupError(`${file}:1:1 needs the key "streams", with a mapping of stream names`)
  const streams = new Map<string, Stream>()
  const complaints: string[] = []
  for (const [name, candidate] of Object.entries(declared)) {
    const complain = (path: readonly PropertyKey[], message: string) =>
      complaints.push(
        `${document.at(['streams', name, ...path])} ${[name, ...path].join('/')}: ${message}`,
      )
    const parsed = streamShape.safeParse(candidate)
    if (!parsed.success) {
      for (const { path, message } of parsed.error.issues) complain(path, message)
      continue
    }
    const declaredHere = declareStream(
      name,
      connector ?? parsed.data.connector ?? 'local',
      parsed.data,
    )
    if ('faults' in declaredHere)
      for (const { path, message } of declaredHere.faults) complain(path, message)
    else streams.set(name, declaredHere.stream)
  }
  if (complaints.length > 0) throw new SetupError(complaints.join('\n'))
  return streams
}
