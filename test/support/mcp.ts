import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'

export interface McpAddress {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch?: (url: string | URL, init?: RequestInit) => Promise<Response>
}

/** The client of the SDK's first generation, connected: it knows the versions with a handshake alone. */
export async function connectMcp(address: McpAddress): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(...toTransportOptions(address))
  await client.connect(transport as Parameters<Client['connect']>[0])
  return client
}

/** How a client of the second generation chooses its version. `default`: as it does if it is told nothing. */
export type Negotiation = 'default' | 'legacy' | 'auto' | { readonly pin: string }

/** The client of the SDK's second generation, connected: it knows the versions of both eras. */
export async function connectNewMcp(address: McpAddress, mode: Negotiation): Promise<NewClient> {
  const options = mode === 'default' ? {} : { versionNegotiation: { mode } }
  const client = new NewClient({ name: 'test', version: '1.0.0' }, options)
  await client.connect(new NewTransport(...toTransportOptions(address)))
  return client
}

function toTransportOptions({ url, headers, fetch }: McpAddress) {
  return [new URL(url), { requestInit: { headers }, ...(fetch === undefined ? {} : { fetch }) }] as const
}

/** Calls a tool; returns its text, its other content, and its data if it succeeded. */
export async function callTool(client: Client | NewClient, name: string, given: Record<string, unknown> = {}) {
  const result = (await client.callTool({ name, arguments: given })) as CallToolResult
  const [content, circumstances] = result.content
  if (content?.type !== 'text') throw new Error('Expected text')
  const isError = result.isError === true
  return {
    text: content.text,
    circumstances: circumstances?.type === 'text' ? circumstances.text : '',
    isError,
    data: isError ? undefined : JSON.parse(content.text),
    structured: result.structuredContent,
    meta: result._meta ?? {},
  }
}
