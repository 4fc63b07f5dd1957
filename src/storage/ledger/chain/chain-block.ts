import { hash } from 'node:crypto'
import { toSeal } from '../seals/seal.ts'

/** The tables that hold a chain. */
export type ChainName = 'audit' | 'execution_events'

/** A position in the chain: the number of the next record, and the digest of the one before it. */
export interface ChainEnd {
  readonly next: number
  readonly head: string
}

/** The records of one commit. */
export interface ChainBlock {
  readonly first: number
  readonly count: number
  readonly at: number
  /** The digest of the last line, and so of all records before it. */
  readonly head: string
  /** `undefined` in blocks of earlier versions. */
  readonly seal: string | undefined
  /** The digest of a record and its JSON, separated by a space. */
  readonly lines: readonly string[]
}

export const toHash = (previous: string, text: string): string =>
  hash('sha256', `${previous}\n${text}`, 'base64url')

/** The digest of a record, and its JSON. */
export function splitLine(line: string): readonly [digest: string, text: string] {
  const space = line.indexOf(' ')
  return [line.slice(0, space), line.slice(space + 1)]
}

export const toLineDigest = (line: string): string => hash('sha256', line, 'base64url')

export const toBlockSeal = (
  key: string,
  chain: ChainName,
  { first, count, at, head }: Pick<ChainBlock, 'first' | 'count' | 'at' | 'head'>,
): string => toSeal(key, `${chain}\nblock\n${first}\n${count}\n${at}\n${head}`)
