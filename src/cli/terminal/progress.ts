export interface ProgressBar {
  show(share: number, lines: number): void
  end(): void
}

const barWidth = 30
const redrawIntervalMs = 100

/** A progress bar on standard error; does nothing when that is not a terminal. */
export function createProgressBar(label: string): ProgressBar {
  const { stderr } = process
  if (!stderr.isTTY) return { show: () => {}, end: () => {} }
  let [isShown, drawnAt] = [false, 0]
  return {
    show(share, lines) {
      const now = Date.now()
      if (now - drawnAt < redrawIntervalMs && share < 1) return
      ;[isShown, drawnAt] = [true, now]
      const filled = Math.round(barWidth * Math.min(1, share))
      stderr.write(
        `\r${label} [${'#'.repeat(filled)}${' '.repeat(barWidth - filled)}] ${Math.round(share * 100)} % ${lines} lines`,
      )
    },
    end() {
      if (isShown) stderr.write('\n')
      isShown = false
    },
  }
}
