import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { openApiSource } from '../../../src/index.ts'
import type { DrawbridgeOptions } from '../../../src/runtime/drawbridge-options.ts'
import type { OpenApiSourceOptions } from '../../../src/runtime/open-openapi.ts'
import { aProject } from '../a-project.ts'
import { type ServedHere, serveHere } from '../serve-here.ts'
import { ApiDocument, type Fields } from './api-document.ts'
import { type MockApi, type MockApiOptions, startMockApi } from './mock-api.ts'

/** The mock of an API, closed when the test ends. */
export async function anApi(document: ApiDocument, options: MockApiOptions = {}): Promise<MockApi> {
  const api = await startMockApi(document, options)
  onTestFinished(() => api.close())
  return api
}

export interface ServedApi extends ServedHere {
  readonly api: MockApi
}

export interface ServeApiOptions extends MockApiOptions {
  readonly source?: OpenApiSourceOptions
  readonly secrets?: (host: string) => OpenApiSourceOptions['secrets']
  readonly bridge?: Omit<DrawbridgeOptions, 'sources'>
}

/** A document's API, and a Drawbridge in this process that serves the document. */
export async function serveApi(file: string, options: ServeApiOptions = {}): Promise<ServedApi> {
  const api = await anApi(new ApiDocument(file), options)
  const source = openApiSource(file, {
    server: api.url,
    ...(options.secrets && { secrets: options.secrets(api.host) ?? {} }),
    ...options.source,
  })
  return { ...(await serveHere({ ...options.bridge, sources: [source] })), api }
}

/** The file of a small document. */
export async function aDocument(paths: Fields, rest: Fields = {}): Promise<string> {
  const document = { openapi: '3.1.0', info: { title: 'Small', version: '1.0.0' }, paths, ...rest }
  return `${await aProject({ 'api.yaml': stringify(document) })}/api.yaml`
}

/** An operation that answers with JSON. */
export const anOperation = (id: string, rest: Fields = {}): Fields => ({
  operationId: id,
  responses: { '200': { description: 'Done.', content: { 'application/json': {} } } },
  ...rest,
})
