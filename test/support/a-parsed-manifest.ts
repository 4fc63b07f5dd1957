import {
  type Manifest,
  type ManifestCapability,
  type ManifestInterface,
  manifestShape,
} from '../../src/sources/manifest/reading/manifest-shape.ts'
import { aManifest } from './a-manifest.ts'

const { trust, runtime } = aManifest()

type Parts = Partial<Omit<Manifest, 'identity'>> & { identity?: Partial<Manifest['identity']> }

/** A valid manifest after parsing, with defaults for missing parts. */
export const aParsedManifest = ({ identity = {}, ...rest }: Parts = {}): Manifest =>
  manifestShape.parse({
    schema_version: '0.1',
    identity: {
      id: 'invoice-clerk',
      name: 'Invoice clerk',
      version: '1.4.0',
      description: 'Reads invoices and pays them.',
      owner: 'Acme',
      type: 'service',
      ...identity,
    },
    capabilities: [aParsedCapability()],
    interfaces: [aParsedInterface()],
    trust,
    runtime: { ...runtime, max_retries: 1, timeout_seconds: 30 },
    ...rest,
  })

export const aParsedCapability = (parts: Partial<ManifestCapability> = {}): ManifestCapability => ({
  id: 'read-invoice',
  name: 'Read an invoice',
  description: 'Reads what an invoice says.',
  category: 'retrieval',
  input_schema: { type: 'object' },
  output_schema: { type: 'object' },
  protocols: ['MCP', 'A2A'],
  idempotency_key_required: false,
  side_effect_level: 'none',
  ...parts,
})

export const aParsedInterface = (parts: Partial<ManifestInterface> = {}): ManifestInterface => ({
  name: 'main',
  protocol: 'MCP',
  endpoint: 'https://agents.example.com/mcp',
  auth: 'none',
  privileged: false,
  ...parts,
})
