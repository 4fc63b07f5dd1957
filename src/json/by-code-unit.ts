/**
 * Compares by UTF-16 code unit, as RFC 8785 sorts keys: the order does not depend on the machine's
 * locale. Equal to code-point order for served names, which are ASCII.
 */
export const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
