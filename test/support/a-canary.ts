import dns, { type LookupAddress } from 'node:dns'
import http from 'node:http'
import net from 'node:net'
import { onTestFinished, vi } from 'vitest'

export interface Canary {
  readonly port: number
  /** The local addresses that were connected to, one entry for each connection. */
  readonly connections: readonly string[]
  readonly requests: readonly http.IncomingMessage[]
}

/** An HTTP server on all addresses of this machine that answers `{}` and records every connection. */
export async function aCanary(respond = (_: http.IncomingMessage) => '{}'): Promise<Canary> {
  const connections: string[] = []
  const requests: http.IncomingMessage[] = []
  const server = http.createServer((request, response) => {
    requests.push(request)
    request.resume()
    response.setHeader('content-type', 'application/json').end(respond(request))
  })
  server.on('connection', (socket) => connections.push(socket.localAddress ?? ''))
  await new Promise<void>((resolve) => server.listen(0, '::', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { port: (server.address() as net.AddressInfo).port, connections, requests }
}

/** Replaces the system's resolver until the test ends. Returns the names that were looked up. */
export function stubDns(answer: (host: string) => readonly string[]): readonly string[] {
  const names: string[] = []
  const lookup = async (host: string): Promise<LookupAddress[]> => {
    names.push(host)
    return answer(host).map((address) => ({ address, family: net.isIP(address) }))
  }
  const spy = vi.spyOn(dns.promises, 'lookup').mockImplementation(lookup as never)
  onTestFinished(() => spy.mockRestore())
  return names
}
