import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { StorageError } from '../../../capability/storage-error.ts'
import type { RowSeals } from '../seals/row-seals.ts'
import { isOlder, type LedgerState, parseState } from './ledger-state.ts'

/** The content of a witness before the first commit. */
const foundingText = 'founding\n'

/** A line of the file. Smaller than a sector, so that a power failure does not tear it. */
const recordBytes = 512

/** Records per process, used in turn: a torn one leaves the one before it. */
const recordsPerSlot = 2

/** The witness may be this much older than the database after a power failure. */
const syncIntervalMs = 200

export type WitnessReading =
  /** `founding`: the first commit was not confirmed yet. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'founding' }
  | { readonly kind: 'unreadable' }
  | WitnessRecords

export interface WitnessRecords {
  readonly kind: 'records'
  readonly latest: LedgerState
  readonly owners: readonly (string | undefined)[]
  /** States of the database file after the checkpoints of each process. */
  readonly stamps: ReadonlySet<string>
}

/** Another process may be writing its first record: then a part of it is read. */
const maxReads = 5
const readPauseMs = 5

/** Reads a witness. The latest record counts: processes write in any order. */
export function readWitness(file: string, seals: RowSeals): WitnessReading {
  for (let read = 1; ; read++) {
    const reading = readOnce(file, seals)
    if (reading.kind !== 'unreadable' || read === maxReads) return reading
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, readPauseMs)
  }
}

function readOnce(file: string, seals: RowSeals): WitnessReading {
  const bytes = readBytes(file)
  if (!bytes) return { kind: 'absent' }
  if (bytes.toString() === foundingText) return { kind: 'founding' }
  const owners: (string | undefined)[] = []
  const stamps = new Set<string>()
  let latest: LedgerState | undefined
  for (let at = 0; at < bytes.length; at += recordBytes) {
    const line = parseLine(bytes.toString('latin1', at, at + recordBytes), seals)
    const slot = Math.floor(at / recordBytes / recordsPerSlot)
    owners[slot] ??= line?.owner
    if (!line) continue
    stamps.add(line.stamp)
    if (!latest || !isOlder(line.state, latest)) latest = line.state
  }
  return latest ? { kind: 'records', latest, owners, stamps } : { kind: 'unreadable' }
}

function readBytes(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new StorageError(`${file} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

/** Marks a new store, on disk before its key and its database. */
export function foundWitness(file: string): void {
  replaceFile(file, foundingText)
}

/** Replaces the witness by a single record. Open processes refuse side effects from then on. */
export function replaceWitness(file: string, seals: RowSeals, record: string, stamp: string): void {
  replaceFile(file, toLine(seals, record, '-', stamp))
}

function replaceFile(file: string, text: string): void {
  const draft = `${file}.draft`
  const descriptor = openSync(draft, 'w', 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(draft, file)
  const folder = openSync(path.dirname(file), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** The open witness of one process. Each process writes to its own slot, so that none overwrites a newer one. */
export class Witness {
  readonly #descriptor: number
  readonly #seals: RowSeals
  readonly #owner: string
  readonly #slot: number
  readonly #buffer = Buffer.alloc(recordBytes)
  #turn = 0
  #syncTimer: NodeJS.Timeout | undefined
  #isClosed = false

  /** Call while holding the write lock of the database: no other process may take the same slot. */
  constructor(file: string, seals: RowSeals, { owner, owners, isDead }: SlotChoice) {
    this.#descriptor = openSync(file, 'r+')
    this.#seals = seals
    this.#owner = owner
    const free = owners.findIndex((other) => other === undefined || other === '-' || isDead(other))
    this.#slot = free < 0 ? owners.length : free
  }

  /** Records a commit that is on disk. In the page cache at once, on disk within `syncIntervalMs`. */
  confirm(record: string, stamp: string): void {
    const { length } = this.#buffer
    const index = this.#slot * recordsPerSlot + this.#turn
    this.#turn = (this.#turn + 1) % recordsPerSlot
    this.#buffer.write(toLine(this.#seals, record, this.#owner, stamp), 'latin1')
    writeSync(this.#descriptor, this.#buffer, 0, length, index * recordBytes)
    this.#syncTimer ??= setTimeout(() => this.#startSync(), syncIntervalMs).unref()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#syncTimer)
    fdatasyncSync(this.#descriptor)
    closeSync(this.#descriptor)
  }

  /** In the thread pool: no call waits for it. */
  #startSync(): void {
    // Cleared first: a record that is written during the sync needs another one.
    this.#syncTimer = undefined
    fdatasync(this.#descriptor, () => {})
  }
}

/** Each process takes the slot of a process that has ended, or a new one. */
interface SlotChoice {
  readonly owner: string
  readonly owners: WitnessRecords['owners']
  readonly isDead: (owner: string) => boolean
}

/** The record has a seal of its own; the other one is for the rest of the line. */
function toLine(seals: RowSeals, record: string, owner: string, stamp: string): string {
  const text = `${record} owner=${owner} file=${stamp}`
  return `${`${text} line=${seals.seal(text)}`.padEnd(recordBytes - 1)}\n`
}

const linePattern = /^((.*) owner=(\S+) file=(\S+)) line=(\w+) *\n$/

/** `undefined` if the line was changed, or written with another key. */
function parseLine(line: string, seals: RowSeals): WitnessLine | undefined {
  const [, text = '', record = '', owner = '', stamp = '', seal] = linePattern.exec(line) ?? []
  const state = seal === seals.seal(text) ? parseState(record, seals) : undefined
  return state && { state, owner, stamp }
}

interface WitnessLine {
  readonly state: LedgerState
  readonly owner: string
  readonly stamp: string
}
