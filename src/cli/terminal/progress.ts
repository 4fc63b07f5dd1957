export interface ProgressBar {
  show(share: number, lines: number): void
  end(): void
}

const width = 30
const often = 100

/** A bar for people; nothing where nobody looks. */
export function createProgressBar(what: string): ProgressBar {
  const { stderr } = process
  if (!stderr.isTTY) return { show: () => {}, end: () => {} }
  let [shown, last] = [false, 0]
  return {
    show(share, lines) {
      const now = Date.now()
      if (now - last < often && share < 1) return
      ;[shown, last] = [true, now]
      const done = Math.round(width * Math.min(1, share))
      stderr.write(
        `\r${what} [${'#'.repeat(done)}${' '.repeat(width - done)}] ${Math.round(share * 100)} % ${lines} lines`,
      )
    },
    end() {
      if (shown) stderr.write('\n')
      shown = false
    },
  }
}
