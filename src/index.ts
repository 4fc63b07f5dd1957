// Everything that users import. The built `index.js` has the same exports, and loads each of the sources
// below with the first call of its function.
export * from './library.ts'
export { manifestSource } from './runtime/open-manifest.ts'
export { openApiSource } from './runtime/open-openapi.ts'
export { recordSource } from './runtime/records/open-records.ts'
export { intentSource } from './sources/intents/intent-source.ts'
export { serviceSource } from './sources/services/service-source.ts'
