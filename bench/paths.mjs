import { fileURLToPath } from 'node:url'

const toPath = (path) => fileURLToPath(new URL(path, import.meta.url))

export const root = toPath('..')
export const fixtures = toPath('.fixtures')
export const contestantFile = (name) => toPath(`contestants/${name}.mjs`)

/**
 * Built checkouts of Drawbridge by the name that a row gives in `checkout`. `--before` adds "before".
 *
 * @typedef {'now' | 'before'} Checkout
 * @type {Map<Checkout, string>}
 */
export const checkouts = new Map([['now', root]])

/** Only entry points that users have: the rest of `dist` may be bundled. */
export const productOf = (checkout = 'now') => `${checkouts.get(checkout)}/dist/cli/main.js`
