import path from 'node:path'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Source } from '../../src/capability/source.ts'
import { NodeServer } from '../../src/http/node-server.ts'
import * as library from '../../src/index.ts'
import type { Surface } from '../../src/mcp/surface.ts'
import { assemble } from '../../src/runtime/assemble.ts'
import type { PolicyOptions } from '../../src/runtime/config/config-options.ts'
import { Drawbridge } from '../../src/runtime/drawbridge.ts'
import type { DrawbridgeOptions } from '../../src/runtime/drawbridge-options.ts'
import { loadConfig, openDrawbridge } from '../../src/runtime/open-drawbridge.ts'
import { repository } from '../support/spawn-server.ts'
import { SdkEndpoint } from './sdk-endpoint.ts'
import { createSdkServer } from './sdk-server.ts'

/** A server that is compared: ours, or the oracle. */
export interface ComparedServer {
  readonly port: number
  /** Serves a client over a new pair of streams. */
  connect(): Promise<Pipes>
  close(): Promise<void>
}

export interface Pipes {
  /** What the client writes. */
  readonly input: Writable
  /** What the client reads. */
  readonly output: Readable
}

export interface BothServers {
  readonly ours: ComparedServer
  readonly sdk: ComparedServer
  close(): Promise<void>
}

/** Serves the same configuration twice, so that calls to one do not change the answers of the other. */
export async function openBoth(folder: string): Promise<BothServers> {
  const what = path.join(repository, folder)
  const [ours, sdk] = await Promise.all([openOurs(what), openSdk(what)])
  const close = async () => void (await Promise.all([ours.close(), sdk.close()]))
  return { ours, sdk, close }
}

const openOptions = { library: async () => library, environment: {} }

/** The same for sources: each server gets its own. */
export async function openServers(toSources: () => readonly Source[]): Promise<BothServers> {
  const toOptions = () => ({ name: 'compared', version: '1.0.0', sources: toSources() })
  const [ours, sdk] = await Promise.all([
    serveOurs(new Drawbridge(toOptions())),
    serveSdk(toOptions()),
  ])
  const close = async () => void (await Promise.all([ours.close(), sdk.close()]))
  return { ours, sdk, close }
}

async function openOurs(what: string): Promise<ComparedServer> {
  const { bridge } = await openDrawbridge(what, { ...openOptions, store: 'none' })
  return serveOurs(bridge)
}

async function serveOurs(bridge: Drawbridge): Promise<ComparedServer> {
  const { port } = await bridge.listen({ port: 0 })
  return {
    port,
    connect: async () => {
      const [input, output] = [new PassThrough(), new PassThrough()]
      await bridge.stdio({ input, output })
      return { input, output }
    },
    close: () => bridge.close(100),
  }
}

async function openSdk(what: string): Promise<ComparedServer> {
  const { configuration, sources } = await loadConfig(what, openOptions)
  const { name = '', version = '', mounts, policy } = configuration.config
  return serveSdk({ name, version, mounts, policy: policy as PolicyOptions, sources })
}

/** The same parts, with the SDK in the place of our protocol engine. */
async function serveSdk(options: DrawbridgeOptions): Promise<ComparedServer> {
  const parts = assemble(options)
  const { mounts, admission, inForce, onError } = parts
  const { refine, policy } = inForce
  await mounts.replace(
    options.sources.map((source) => ('read' in source ? { source, mount: '/mcp' } : source)),
    { refine, text: policy.text },
    () => true,
    () => {},
  )
  const { surface } = mounts.at('/mcp')
  mounts.endpoints.set('/mcp', new SdkEndpoint(surface))
  const server = await NodeServer.listen({
    host: '127.0.0.1',
    port: 0,
    handler: await parts.openHandler(),
    admission,
    onError,
  })
  return {
    port: server.port,
    connect: async () => connectSdk(surface),
    close: async () => {
      server.refuse()
      mounts.closeSurfaces()
      for (const endpoint of mounts.endpoints.values()) endpoint.close()
      await mounts.closeEndpoints()
      await server.close()
      await mounts.closeCatalogs()
      await parts.ledger.close()
    },
  }
}

function connectSdk(surface: Surface): Pipes {
  const [input, output] = [new PassThrough(), new PassThrough()]
  serveStdio(({ era }) => createSdkServer(surface, era), {
    transport: new StdioServerTransport(input, output),
  })
  return { input, output }
}
