// The suite imports `globSync`, which Node 20 lacks. Server tests never call it.
import { register } from 'node:module'

const hooks = `
export async function resolve(specifier, context, next) {
  return specifier === 'fs' && /\\/conformance-[\\d.]+\\/dist\\//.test(context.parentURL ?? '')
    ? { url: 'shim:fs', format: 'module', shortCircuit: true }
    : next(specifier, context)
}
export async function load(url, context, next) {
  if (url !== 'shim:fs') return next(url, context)
  const source = "export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = () => []"
  return { format: 'module', shortCircuit: true, source }
}`

register(`data:text/javascript,${encodeURIComponent(hooks)}`)
