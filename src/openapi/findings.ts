import type { DocumentPath } from './document.ts'

export interface Finding {
  readonly path: DocumentPath
  readonly message: string
}

/** What reading a part of a document found. */
export class Findings {
  /** Problems that make the part unusable. */
  readonly faults: Finding[] = []
  /** What is left out, or not checked. */
  readonly remarks: Finding[] = []
  /** Decisions that lose nothing. */
  readonly notes: Finding[] = []

  fault(path: DocumentPath, message: string): void {
    this.faults.push({ path, message })
  }

  note(path: DocumentPath, message: string): void {
    this.notes.push({ path, message })
  }

  add({ faults, remarks, notes }: Findings): void {
    this.faults.push(...faults)
    this.remarks.push(...remarks)
    this.notes.push(...notes)
  }

  remark(path: DocumentPath, message: string): void {
    this.remarks.push({ path, message })
  }
}
