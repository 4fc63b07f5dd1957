import { root } from './paths.mjs'

/**
 * Imports a module that the package does not export, compiled file by file. Not together with `dist/index.js`, which is
 * a bundle with its own copy of every module.
 *
 * @param {string} module its path in `src/`, without extension
 */
export const importSource = (module) => import(`${root}dist/${module}.js`)
