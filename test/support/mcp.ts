import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'

/** The SDK's own client, connected. */
export async function connectMcp(options: {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch?: (url: string | URL, init?: RequestInit) => Promise<Response>
}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(options.url), {
    requestInit: { headers: options.headers },
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  })
  await client.connect(transport as Parameters<Client['connect']>[0])
  return client
}

/** Calls a tool; returns its text, its other content, and its data if it succeeded. */
export async function callTool(client: Client, name: string, given: Record<string, unknown> = {}) {
  const result = (await client.callTool({ name, arguments: given })) as CallToolResult
  const [content, circumstances] = result.content
  if (content?.type !== 'text') throw new Error('Expected text')
  const isError = result.isError === true
  return {
    text: content.text,
    circumstances: circumstances?.type === 'text' ? circumstances.text : '',
    isError,
    data: isError ? undefined : JSON.parse(content.text),
    meta: result._meta ?? {},
  }
}
