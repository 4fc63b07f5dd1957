/** A manual clock. */
export function aClock(start = Date.parse('2026-03-10T12:00:00Z')) {
  let time = start
  return {
    now: () => time,
    pass: (milliseconds: number) => {
      time += milliseconds
    },
  }
}

export const second = 1000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour
