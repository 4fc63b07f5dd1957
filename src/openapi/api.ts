import { isFault } from '../capability/fault.ts'
import type { ApiTarget } from './api-client.ts'
import { compileOperation } from './compile-operation.ts'
import type { OpenApiDocument } from './document.ts'
import { Findings } from './findings.ts'
import { hideCredentials } from './hide-credentials.ts'
import { type DeclaredOperation, listOperations } from './list-operations.ts'
import { SchemaTranslator } from './schemas.ts'
import { bindSecrets, type SchemeSecrets } from './security/secrets.ts'
import { findServer, type ServerChoice } from './servers.ts'

/** What the operator decides about an API. */
export interface ApiOptions extends ServerChoice {
  readonly secrets: SchemeSecrets
}

/** The operations of a document, each with its server and credentials. */
export class Api {
  readonly document: OpenApiDocument
  readonly operations: readonly DeclaredOperation[]
  /** About the document as a whole, and operations that cannot be read. */
  readonly findings = new Findings()
  readonly #options: ApiOptions
  readonly #translator: SchemaTranslator

  constructor(document: OpenApiDocument, options: ApiOptions) {
    this.document = document
    this.#options = options
    this.#translator = new SchemaTranslator(document, 'input', { takesDigits: true })
    this.operations = listOperations(document, this.findings)
  }

  /** Compiles an operation: call it once for each, while loading. */
  toTarget(declared: DeclaredOperation): ApiTarget {
    const operation = compileOperation(this.document, declared, this.#translator)
    const server = findServer(this.document, declared, this.#options)
    const security = isFault(server)
      ? { fault: server.fault }
      : bindSecrets(operation.security, this.#options.secrets, {
          url: server,
          isFromOperator: this.#options.server !== undefined,
        })
    return hideCredentials({ operation, server, security })
  }
}
