import type { AuditEntry, Clock, LedgerWriter } from '../../../governance/ledger.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import { type ClockRow, ClockTable } from './clock-table.ts'
import { judgeTime, type SystemClocks, toleranceMs } from './judge-time.ts'
import { toDuration } from './to-duration.ts'

/** Interval of the comparison with uptime and wall clock, which costs several system calls. */
const examineIntervalMs = 100
/** The steady clock is corrected by a larger difference from the uptime: the machine has slept. */
const sleepMs = 2000
/** The mark is stored with commits, at most this often. */
const storeIntervalMs = 1000

export interface ClockListener {
  /** Adds an entry to the audit. */
  readonly record: (entry: AuditEntry) => void
  /** Tells the operator. */
  readonly warn: (message: string) => void
}

/**
 * The clock of a ledger. Ledger time never runs backwards, neither while the process lives nor across
 * restarts, and ignores changes of the wall clock. Calendar time is ledger time minus a skew, which only
 * an operator's confirmation changes: so a confirmation cannot revive what has expired.
 */
export class LedgerClock implements Clock {
  /** Absent for a damaged file. */
  readonly #table: ClockTable | undefined
  readonly #clocks: SystemClocks
  readonly #listener: ClockListener
  /** The stored row, as this process last read or wrote it. */
  #row: ClockRow
  /** Ledger time minus steady clock. */
  #offset = 0
  /** The ledger time at an uptime. */
  #anchor = { time: 0, uptime: 0 }
  #latest = 0
  #examinedAt = 0
  #storedAt = Number.NEGATIVE_INFINITY
  /** True until the wall clock agrees again, or an operator confirms it. */
  #isSuspicious = false
  /** The drift that was last reported. */
  #reportedMs = 0

  constructor(database: Sqlite | undefined, clocks: SystemClocks, listener: ClockListener) {
    this.#table = database && new ClockTable(database)
    this.#clocks = clocks
    this.#listener = listener
    this.#row = this.#table?.read() ?? this.#toFirstRow()
    this.#reportedMs = this.#row.reported
    this.#judge()
    this.#examine()
    // The audit has it from an earlier process, but the operator of this one may not know.
    if (this.#isSuspicious && this.#reportedMs === this.#row.reported) this.#warn()
  }

  readonly now = (): number => {
    const steady = this.#clocks.steadyMs()
    if (Math.abs(steady - this.#examinedAt) > examineIntervalMs) this.#examine()
    const now = Math.floor(steady + this.#offset)
    if (now > this.#latest) this.#latest = now
    return this.#latest
  }

  readonly calendarNow = (): number => this.now() - this.#row.skew

  readonly toCalendar = (time: number): number => time - this.#row.skew

  readonly findDoubt = (): string | undefined => {
    if (!this.#isSuspicious) return undefined
    const stored = this.#table?.read()
    if (stored) this.#adopt(stored)
    this.#examine()
    return this.#isSuspicious ? toDoubt(this.driftMs) : undefined
  }

  get isSuspicious(): boolean {
    return this.#isSuspicious
  }

  /** Wall clock minus calendar time. */
  get driftMs(): number {
    const { steadyMs, wallMs } = this.#clocks
    return wallMs() + this.#row.skew - (steadyMs() + this.#offset)
  }

  /** Stores the mark. Runs inside a transaction that is committed anyway. */
  store(): void {
    const { steadyMs, uptimeMs, bootId } = this.#clocks
    const steady = steadyMs()
    if (Math.abs(steady - this.#storedAt) < storeIntervalMs) return
    this.#storedAt = steady
    const stored = this.#table?.read()
    if (stored) this.#adopt(stored)
    const mark = this.now()
    // Under suspicion, the last mark of another boot stays the one that the wall clock is compared with.
    const isReference = !this.#isSuspicious || this.#row.boot === bootId
    const row = { ...(stored ?? this.#row), mark, reported: Math.round(this.#reportedMs) }
    const drift = Math.round(this.driftMs)
    this.#row = isReference ? { ...row, uptime: uptimeMs(), boot: bootId ?? null, drift } : row
    this.#table?.write(this.#row)
  }

  /**
   * Declares the wall clock right: calendar time follows it, ledger time continues. Approvals that the wall
   * clock calls expired become so; keys and duplicates are remembered as if no time had passed. Returns
   * the difference in milliseconds; 0 if there was none to confirm.
   */
  confirm(writer: LedgerWriter, by: string): number {
    const stored = this.#table?.read()
    if (stored) this.#adopt(stored)
    const now = this.now()
    const driftMs = Math.round(this.driftMs)
    if (!this.#isSuspicious && Math.abs(driftMs) <= toleranceMs) return 0
    for (const state of ['pending', 'approved'] as const)
      for (const { id, expires } of writer.approvals(state, Number.MAX_SAFE_INTEGER))
        if (expires <= now + driftMs) writer.decideApproval(id, { state: 'expired', at: now })
    const { uptimeMs, bootId } = this.#clocks
    this.#row = {
      mark: now,
      uptime: uptimeMs(),
      boot: bootId ?? null,
      skew: this.#row.skew - driftMs,
      drift: 0,
      reported: 0,
      confirmations: this.#row.confirmations + 1,
    }
    this.#table?.write(this.#row)
    this.#isSuspicious = false
    this.#reportedMs = 0
    writer.append({ ...this.#toEntry('clock_confirmed', driftMs), by })
    return driftMs
  }

  /** A store that was written before the table existed: its last audit entry is the mark. */
  #toFirstRow(): ClockRow {
    const mark = this.#table?.lastAuditTime() ?? Math.floor(this.#clocks.wallMs())
    return { mark, uptime: 0, boot: null, skew: 0, drift: 0, reported: 0, confirmations: 0 }
  }

  #judge(): void {
    const { wallMs, uptimeMs, bootId } = this.#clocks
    const reading = { wall: wallMs(), uptime: uptimeMs(), boot: bootId }
    const { now, suspiciousMs } = judgeTime(this.#row, reading)
    this.#isSuspicious = suspiciousMs !== undefined
    this.#advanceTo(now)
  }

  #advanceTo(time: number): void {
    if (time < this.#latest) return
    const { steadyMs, uptimeMs } = this.#clocks
    this.#latest = Math.floor(time)
    this.#offset = time - steadyMs()
    this.#anchor = { time, uptime: uptimeMs() }
  }

  /** Takes over what other processes have stored: a later mark, or a confirmation. */
  #adopt(stored: ClockRow): void {
    const isConfirmed = stored.confirmations !== this.#row.confirmations
    if (stored.mark > this.#latest) this.#advanceTo(stored.mark)
    if (!isConfirmed) return
    this.#row = stored
    this.#isSuspicious = false
    this.#reportedMs = stored.reported
  }

  /** Compares the steady clock with the uptime, and both with the wall clock. */
  #examine(): void {
    const { steadyMs, uptimeMs } = this.#clocks
    const steady = steadyMs()
    const slept = this.#anchor.time + uptimeMs() - this.#anchor.uptime - (steady + this.#offset)
    if (Math.abs(slept) > sleepMs) this.#offset += slept
    this.#examinedAt = steady
    if (this.#isSuspicious) this.#judge()
    const { driftMs } = this
    if (Math.abs(driftMs - this.#reportedMs) <= toleranceMs) return
    this.#reportedMs = driftMs
    const isAgreeing = Math.abs(driftMs) <= toleranceMs
    this.#listener.record(this.#toEntry(isAgreeing ? 'clock_agrees' : 'clock_jump', driftMs))
    this.#warn()
  }

  #warn(): void {
    const { driftMs } = this
    const isAgreeing = Math.abs(driftMs) <= toleranceMs
    this.#listener.warn(
      this.#isSuspicious
        ? toDoubt(driftMs)
        : isAgreeing
          ? "The system clock agrees with the ledger's clock again."
          : `${toDifference(driftMs)} It was set while this process is running, which ignores it. ${advice} A restart without it refuses calls that depend on time.`,
    )
  }

  #toEntry(code: string, driftMs: number): AuditEntry {
    return { event: 'clock', at: this.#latest, code, seconds: Math.round(driftMs / 1000) }
  }
}

const advice =
  'Check the date of this machine: if it is right, run "drawbridge clock confirm" in the folder of the configuration; if not, correct it.'

const toDifference = (driftMs: number): string =>
  `The system clock is ${toDuration(Math.abs(driftMs))} ${driftMs > 0 ? 'ahead of' : 'behind'} the ledger's clock.`

const toDoubt = (driftMs: number): string =>
  `${toDifference(driftMs)} Calls that depend on time are refused: approvals, budgets, idempotency keys, duplicates. ${advice}`
