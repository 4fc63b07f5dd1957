/** Limit for JSON that others wrote, far above ordinary data: recursion over it must not overflow the stack. */
export const maxDepth = 1000

/** Whether objects and lists are nested in each other more than `levels` times. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1))
}
