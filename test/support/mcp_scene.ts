import type { Client as NewClient } from '@modelcontextprotocol/client'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { createMcp } from '../../src/mcp/gateway.ts'
import { createClient } from './client.ts'
import { createFixture, type Fixture } from './http/fixture.ts'
import { connectMcp, connectNewMcp, type McpAddress, type Negotiation } from './mcp.ts'
import { createTestClock } from './test_clock.ts'

export const ACCEPT = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
/** Tools of the fixture's routes. */
export const ITEM = 'read_liquidity_position'
export const LIST = 'list_liquidity_positions'
export const BATCH = 'list_lending_health'

/** The gateway over the fixture's routes, and who asks it: without a socket. */
export function createMcpScene(options: Parameters<typeof createFixture>[0] = {}) {
  const fixture = createFixture({
    gateway: (routes) =>
      createMcp({
        routes,
        origins: ['https://app.example'],
        sessionId: () => crypto.randomUUID(),
        clock: createTestClock(),
      }),
    ...options,
  })
  const ask = createClient(fixture.app.handler)
  const post = (body: unknown, request: { key?: string; headers?: Record<string, string> } = { key: 'good' }) =>
    ask('/mcp', {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...request,
      headers: { ...ACCEPT, ...request.headers },
    })
  const address = (key: string, headers: Record<string, string> = {}): McpAddress => ({
    url: 'http://test.local/mcp',
    headers: { authorization: `Bearer ${key}`, host: 'test.local', ...headers },
    fetch: async (url, init) =>
      fixture.app.handler({
        request: new Request(String(url), init),
        ip: '127.0.0.1',
        platform: undefined,
        env: () => undefined,
        passThrough: () => {},
        waitUntil: () => {},
      }),
  })
  const connect = (key: string, headers?: Record<string, string>): Promise<Client> => connectMcp(address(key, headers))
  const connectNew = (key: string, mode: Negotiation, headers?: Record<string, string>): Promise<NewClient> =>
    connectNewMcp(address(key, headers), mode)
  return { ...fixture, ask, post, connect, connectNew }
}

/** The message that calls a tool. */
export function toCallMessage(name: string, given: object, id: unknown = 1) {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: given } }
}

/** Rows of the log, oldest first. */
export function listRows({ gate }: Fixture) {
  return gate.rows.map(({ method, path, status, creditsCharged }) => [`${method} ${path}`, status, creditsCharged])
}
