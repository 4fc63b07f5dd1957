import { onTestFinished } from 'vitest'
import { Drawbridge } from '../../src/runtime/drawbridge.ts'
import type { DrawbridgeOptions } from '../../src/runtime/drawbridge-options.ts'

export interface ServedHere {
  readonly bridge: Drawbridge
  readonly port: number
  readonly url: string
}

/** A Drawbridge in this process, which listens on a free port until the test ends. */
export async function serveHere(options: DrawbridgeOptions): Promise<ServedHere> {
  const bridge = new Drawbridge(options)
  const { port } = await bridge.listen({ port: 0 })
  onTestFinished(() => bridge.close(100))
  return { bridge, port, url: `http://127.0.0.1:${port}/mcp` }
}
